"""Which heartbeats are plain enough for the fast path. Whatever is unusual is left to Django."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from controlplane.api.json_body import parse_json
from controlplane.errors import MalformedBody
from overrides.fast_reads.plain import PlainRequests, is_our_host
from registry.agents.reports import PARTS, digest_of

_PATH = re.compile(r"/api/v1/agents/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/heartbeat")
# Such as every agent without a report sends; years that no zone can move out of Python's range.
_TIME = rb"(?:19|2\d)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)"
_LAG = rb"0|[1-9]\d{0,17}"
_BODY = re.compile(
    rb'\s*\{\s*"timestamp"\s*:\s*"(%b)"\s*,\s*"consumer_lag"\s*:\s*(%b)\s*\}\s*' % (_TIME, _LAG)
)
_TIME_ALONE = re.compile(_TIME.decode())
_MEMBERS = {"timestamp", "consumer_lag", *PARTS}
_TYPES = {b"application/json", b"application/json; charset=utf-8"}
_MAX_LAG = 2**63 - 1
_LONGEST_BODY = 64 * 1024
# They change the answer, or mean that somebody else is asking.
_UNUSUAL = frozenset({b"cookie", b"origin", b"transfer-encoding", b"expect", b"x-forwarded-host"})
_SCHEME = b"Bearer "
# Postgres counts microseconds from here.
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)  # not frozen: that costs a microsecond
class PlainHead:
    """agent, key: the agent's id as text and as bytes. digest: of the token."""

    agent: str
    key: bytes
    digest: bytes
    secure: bool
    request_id: str | None


@dataclass(slots=True)
class PlainBody:
    """reported_at: microseconds since 2000, as Postgres counts. report: a digest, if there is one."""

    reported_at: int
    lag: int
    report: bytes | None


class PlainHeads:
    """Reads heads by the settings of the process."""

    def __init__(self) -> None:
        self._requests = PlainRequests()

    def read(self, scope: Mapping[str, Any]) -> PlainHead | None:
        """Return what the head says, or None if it is not a plain one."""
        found = _PATH.fullmatch(scope["path"])
        if found is None or scope["method"] != "PUT" or scope["query_string"] or scope.get("root_path"):
            return None
        sent = scope["headers"]
        headers = dict(sent)
        # A header that is sent twice is joined for Django.
        if len(headers) < len(sent) or not _UNUSUAL.isdisjoint(headers):
            return None
        authorization = headers.get(b"authorization", b"")
        secure = self._requests.is_secure(scope["scheme"], headers)
        if (
            not authorization.startswith(_SCHEME)
            or headers.get(b"content-type") not in _TYPES
            or not _is_short(headers.get(b"content-length", b""))
            or (self._requests.tls_only and not secure)
            or not is_our_host(headers.get(b"host", b""))
        ):
            return None
        request_id = headers.get(b"x-request-id")
        said = None if request_id is None else request_id.decode("latin-1")
        agent = found[1]
        key = bytes.fromhex(agent.replace("-", ""))
        return PlainHead(agent, key, sha256(authorization[len(_SCHEME) :]).digest(), secure, said)


def read_body(body: bytes) -> PlainBody | None:
    """Return what the body says, or None if Django must judge it."""
    found = _BODY.fullmatch(body)
    if found is not None:
        said = _microseconds(found[1].decode("ascii"))
        return None if said is None else PlainBody(said, int(found[2]), None)
    try:
        document = parse_json(body)
    except MalformedBody:
        return None
    return _with_report(document)


def _with_report(document: Any) -> PlainBody | None:
    if not isinstance(document, dict) or not _MEMBERS.issuperset(document):
        return None
    stamp, lag = document.get("timestamp"), document.get("consumer_lag")
    if type(lag) is not int or not 0 <= lag <= _MAX_LAG:
        return None
    if not isinstance(stamp, str) or not _TIME_ALONE.fullmatch(stamp):
        return None
    said = _microseconds(stamp)
    return None if said is None else PlainBody(said, lag, digest_of(document))


def _microseconds(stamp: str) -> int | None:
    try:
        return (datetime.fromisoformat(stamp) - _ZERO) // _MICROSECOND
    except ValueError:
        return None


def _is_short(length: bytes) -> bool:
    return length.isdigit() and int(length) <= _LONGEST_BODY
