"""Pass events on to FlyteAdmin, unchanged, and return its answer.

Events of gRPC go to FlyteAdmin's HTTP port too, as the bytes that came: its gateway reads protobuf. So one
address serves both, and its answer is a google.rpc.Status with all details.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import structlog
from django.conf import settings
from flyteidl.admin import execution_pb2
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status

from overrides.executions.reports import Facts, Report
from overrides.flyte.errors import Code, FlyteError

PROTOBUF = "application/octet-stream"
# Our own tokens say nothing to FlyteAdmin, and are nobody else's business.
_OURS = "cp_"
_MOST_READ = 16 * 1024 * 1024
_FACTS_SECONDS = 2.0
log = structlog.get_logger(__name__)
_connections = threading.local()


@dataclass(frozen=True, slots=True)
class Original:
    """A request as it came. path: of FlyteAdmin's HTTP API. authorization: its header, or empty."""

    path: str
    body: bytes
    content_type: str
    authorization: str


class _Answer(NamedTuple):
    status: int
    content_type: str
    content: bytes


class Relay:
    """Passes on one event, once."""

    def __init__(self, original: Original) -> None:
        self._original = original
        self._refusal: FlyteError | None = None

    def send(self) -> bool:
        """Send the event. False: FlyteAdmin had it already. Raises FlyteError with its refusal."""
        headers = {
            "Content-Type": self._original.content_type or "application/x-www-form-urlencoded",
            **_common_headers(self._original),
        }
        answer = _exchange(
            "POST", self._original.path, self._original.body, headers, settings.FLYTE_ADMIN_SECONDS
        )
        if answer.status == http.client.OK:
            return True
        self._refusal = _refusal(answer)
        if self._refusal.code is not Code.ALREADY_EXISTS:
            raise self._refusal
        return False

    def repeat_refusal(self) -> None:
        """Raise what FlyteAdmin said of an event that it had already."""
        if self._refusal:
            raise self._refusal

    def facts(self, report: Report) -> Facts | None:
        """Ask FlyteAdmin for the execution; None if it does not tell."""
        path = "/".join(quote(part, safe="") for part in (report.project, report.domain, report.execution))
        try:
            answer = _exchange(
                "GET", f"/api/v1/executions/{path}", b"", _common_headers(self._original), _FACTS_SECONDS
            )
            return _facts(answer) if answer.status == http.client.OK else None
        except (FlyteError, DecodeError) as error:
            log.warning("flyteadmin.execution_unknown", execution=path, error=str(error)[:500])
            return None


def _facts(answer: _Answer) -> Facts:
    execution = execution_pb2.Execution.FromString(answer.content)
    spec = execution.spec
    return Facts(
        workflow=execution.closure.workflow_id.name,
        principal=spec.metadata.principal,
        labels=dict(spec.labels.values),
        launch_plan=json_format.MessageToDict(spec.launch_plan),
    )


def _common_headers(original: Original) -> Mapping[str, str]:
    headers = {"Accept": PROTOBUF}
    token = original.authorization.partition(" ")[2].strip()
    if token and not token.startswith(_OURS):
        headers["Authorization"] = original.authorization
    return headers


def _refusal(answer: _Answer) -> FlyteError:
    """Return FlyteAdmin's error; UNAVAILABLE if something before it answered."""
    if answer.content_type.startswith(PROTOBUF):
        try:
            return _from_status(Status.FromString(answer.content))
        except (DecodeError, ValueError):
            pass
    return FlyteError(
        Code.UNAVAILABLE,
        f"FlyteAdmin's address answered with {answer.status}. Nothing was recorded. Try again.",
    )


def _from_status(status: Status) -> FlyteError:
    error = FlyteError(Code(status.code), status.message)
    error.packed.extend(status.details)
    return error


def _exchange(method: str, path: str, body: bytes, headers: Mapping[str, str], seconds: float) -> _Answer:
    """Return the answer. Raises FlyteError (UNAVAILABLE) if there is none."""
    try:
        try:
            return _once(method, path, body, headers, seconds)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            # The connection was kept too long. If the event has arrived, FlyteAdmin says so.
            _forget()
            return _once(method, path, body, headers, seconds)
    except (OSError, http.client.HTTPException) as error:
        _forget()
        log.warning("flyteadmin.unavailable", error=str(error) or type(error).__name__)
        message = "FlyteAdmin did not answer in time. Nothing was recorded. Try again."
        raise FlyteError(Code.UNAVAILABLE, message) from error


def _once(method: str, path: str, body: bytes, headers: Mapping[str, str], seconds: float) -> _Answer:
    connection = _connection()
    connection.timeout = seconds
    if connection.sock is not None:
        connection.sock.settimeout(seconds)
    connection.request(method, urlsplit(settings.FLYTE_ADMIN_URL).path + path, body, dict(headers))
    response = connection.getresponse()
    content = response.read(_MOST_READ)
    return _Answer(response.status, response.getheader("Content-Type", "").lower(), content)


def _connection() -> http.client.HTTPConnection:
    """Return this thread's connection to FlyteAdmin."""
    url = settings.FLYTE_ADMIN_URL
    if getattr(_connections, "url", None) != url:
        _forget()
        parts = urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        _connections.kept, _connections.url = kind(parts.hostname or "", parts.port), url
    kept: http.client.HTTPConnection = _connections.kept
    return kept


def _forget() -> None:
    kept: http.client.HTTPConnection | None = getattr(_connections, "kept", None)
    if kept is not None:
        kept.close()
    _connections.url = None
