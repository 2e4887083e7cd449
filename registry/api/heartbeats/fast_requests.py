"""Which heartbeats are plain enough for the fast path. Whatever is unusual is left to Django."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from controlplane.errors import MalformedBody
from controlplane.formats.strict_json import parse_json
from registry.heartbeats.reports import digest_of

_PATH = re.compile(r"/api/v1/agents/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/heartbeat")
# Such as every agent without a report sends; years that no zone can move out of Python's range.
_TIME = rb"(?:19|2\d)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)"
_LAG = rb"0|[1-9]\d{0,17}"
_UUID = rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_BODY = re.compile(
    rb'\s*\{\s*"timestamp"\s*:\s*"(%b)"\s*,\s*"consumer_lag"\s*:\s*(%b)\s*'
    rb'(?:,\s*"instance_uuid"\s*:\s*"(%b)"\s*)?\}\s*' % (_TIME, _LAG, _UUID)
)
_TIME_ALONE = re.compile(_TIME.decode())
_UUID_ALONE = re.compile(_UUID.decode())
_MAX_LAG = 2**63 - 1
# Postgres counts microseconds from here.
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class PlainBody:
    """reported_at: microseconds since 2000, as Postgres counts. report: a digest; instance: 16 bytes."""

    reported_at: int
    lag: int
    report: bytes | None
    instance: bytes | None = None


def agent_of(path: str) -> str | None:
    """The agent whose heartbeat has this path, or None if Django must judge it."""
    found = _PATH.fullmatch(path)
    return found[1] if found else None


def read_body(body: bytes) -> PlainBody | None:
    """Return what the body says, or None if Django must judge it."""
    found = _BODY.fullmatch(body)
    if found is not None:
        said = _microseconds(found[1].decode("ascii"))
        instance = None if found[3] is None else _instance(found[3].decode("ascii"))
        return None if said is None else PlainBody(said, int(found[2]), None, instance)
    try:
        document = parse_json(body, max_depth=settings.MAX_JSON_DEPTH)
    except MalformedBody:
        return None
    return _with_report(document)


def time_of(reported_at: int) -> datetime:
    return _ZERO + reported_at * _MICROSECOND


def _with_report(document: Any) -> PlainBody | None:
    """Members that we do not know are ignored, as Django does: the agent may be newer."""
    if not isinstance(document, dict):
        return None
    stamp, lag = document.get("timestamp"), document.get("consumer_lag")
    if type(lag) is not int or not 0 <= lag <= _MAX_LAG:
        return None
    if not isinstance(stamp, str) or not _TIME_ALONE.fullmatch(stamp):
        return None
    instance = document.get("instance_uuid", "")
    if not isinstance(instance, str) or (instance and not _UUID_ALONE.fullmatch(instance)):
        return None
    if not instance and "instance_uuid" in document:
        return None
    said = _microseconds(stamp)
    known = _instance(instance) if instance else None
    return None if said is None else PlainBody(said, lag, digest_of(document), known)


def _instance(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))


def _microseconds(stamp: str) -> int | None:
    try:
        return (datetime.fromisoformat(stamp) - _ZERO) // _MICROSECOND
    except ValueError:
        return None
