"""Effective values that a program can start with while the control plane is away.

`make sdk` copies this file into the generated package, beside `portable`, which cpctl uses too.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from .client import AuthenticatedClient
from .portable.snapshots import Snapshot, SnapshotRefused, read_snapshot
from .problems import Problem

__all__ = ["Snapshot", "SnapshotRefused", "load_or_fetch", "read_snapshot"]

SNAPSHOT_PATH = "/api/v1/overrides/effective:snapshot"
log = logging.getLogger(__name__)


def load_or_fetch(
    client: AuthenticatedClient,
    path: str | Path,
    scopes: Sequence[Mapping[str, str]],
    *,
    keys: Sequence[bytes] | None,
    resource_type: str = "",
    max_age: timedelta | None = None,
    **asked: Any,
) -> Snapshot:
    """Fetch a snapshot and keep it in a file; where the control plane is away, take the one in the file.

    `is_live` and `age()` say which of the two it is, and so does a line in the log. keys, max_age: as for
    `read_snapshot`. asked: other fields of the request, such as `valid_seconds`. Raises Problem for a refused
    request, SnapshotRefused for a snapshot that must not be used, and httpx.TransportError or Problem if
    there is no file either.
    """
    body = {"scopes": [dict(scope) for scope in scopes], "resource_type": resource_type, **asked}
    place, http = Path(path), client.get_httpx_client()
    try:
        # Not with the patience of `connect`: the file is at hand.
        text = _fetched(http, body, is_patient=not place.exists())
    except (httpx.TransportError, Problem) as error:
        if not (place.exists() and is_away(error)):
            raise
        snapshot = read_snapshot(place.read_bytes(), keys, max_age=max_age)
        log.warning(
            "The control plane is away (%s). Using %s, which is %s old.", error, place, snapshot.age()
        )
        return snapshot
    snapshot = read_snapshot(text, keys, max_age=max_age, is_live=True)
    keep_file(place, text)
    return snapshot


def _fetched(http: httpx.Client, body: dict[str, Any], *, is_patient: bool) -> bytes:
    request = http.build_request("POST", SNAPSHOT_PATH, json=body)
    answer = http.send(request) if is_patient else httpx.Client.send(http, request)
    if answer.status_code >= 400:
        raise problem_of(answer)
    return answer.content


def problem_of(answer: httpx.Response) -> Problem:
    """Return the exception of a response that was read."""
    try:
        document = answer.json()
    except ValueError:
        document = {}
    retry_after = str(answer.headers.get("Retry-After", ""))
    return Problem(answer.status_code, document if isinstance(document, dict) else {}, retry_after)


def is_away(error: Exception) -> bool:
    """Return whether the control plane cannot answer, rather than refuses to."""
    return not isinstance(error, Problem) or error.status >= 500 or error.status == 429


def keep_file(place: Path, text: bytes) -> None:
    """Replace the file at once, so that nobody reads half of it."""
    descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
