"""Which heartbeats are plain enough for the fast path. Whatever is unusual is left to Django."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from controlplane.api.json_body import parse_json
from controlplane.errors import MalformedBody
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
_MAX_LAG = 2**63 - 1
# Postgres counts microseconds from here.
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class PlainBody:
    """reported_at: microseconds since 2000, as Postgres counts. report: a digest, if there is one."""

    reported_at: int
    lag: int
    report: bytes | None


def agent_of(path: str) -> str | None:
    """The agent whose heartbeat has this path, or None if Django must judge it."""
    found = _PATH.fullmatch(path)
    return found[1] if found else None


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


def time_of(reported_at: int) -> datetime:
    return _ZERO + reported_at * _MICROSECOND


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
