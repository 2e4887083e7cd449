"""Read heartbeats that are plain enough for the fast path. Unusual ones are left to Django."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from controlplane.errors import MalformedBody
from controlplane.formats.strict_json import parse_json
from registry.agents.states import after_heartbeat
from registry.api.heartbeats.fast_connection import BinaryHeartbeat
from registry.heartbeats.reports import digest_of

_PATH = re.compile(r"/api/v1/agents/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/heartbeat")
# The format of bodies without a report. No time zone can move these years out of Python's range.
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
# The epoch of Postgres.
_ZERO = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def agent_of(path: str) -> str | None:
    """Return the agent id in the path of a heartbeat, or None if Django must decide."""
    match = _PATH.fullmatch(path)
    return match[1] if match else None


def read_heartbeat(
    agent_id: str, token_digest: bytes, body: bytes, *, congestion_lag: int
) -> BinaryHeartbeat | None:
    """Return the heartbeat in the body, or None if Django must decide."""
    plain = _read_plain(body)
    if plain is None:
        return None
    timestamp, consumer_lag, instance, report = plain
    reported_at = _microseconds(timestamp)
    if reported_at is None:
        return None
    state = after_heartbeat(consumer_lag, congestion_lag=congestion_lag)
    return BinaryHeartbeat(_uuid(agent_id), token_digest, state, reported_at, consumer_lag, report, instance)


def _read_plain(body: bytes) -> tuple[str, int, bytes | None, bytes | None] | None:
    """Return timestamp, consumer lag, instance, and the digest of the report."""
    match = _BODY.fullmatch(body)
    if match is not None:
        instance = None if match[3] is None else _uuid(match[3].decode("ascii"))
        return match[1].decode("ascii"), int(match[2]), instance, None
    try:
        document = parse_json(body, max_depth=settings.MAX_JSON_DEPTH)
    except MalformedBody:
        return None
    return _read_document(document)


def _read_document(document: Any) -> tuple[str, int, bytes | None, bytes | None] | None:
    """Read a parsed body. Unknown members are ignored, as Django does: the agent may be newer."""
    if not isinstance(document, dict):
        return None
    timestamp, consumer_lag = document.get("timestamp"), document.get("consumer_lag")
    if type(consumer_lag) is not int or not 0 <= consumer_lag <= _MAX_LAG:
        return None
    if not isinstance(timestamp, str) or not _TIME_ALONE.fullmatch(timestamp):
        return None
    instance = document.get("instance_uuid")
    if "instance_uuid" in document and not (isinstance(instance, str) and _UUID_ALONE.fullmatch(instance)):
        return None
    return timestamp, consumer_lag, None if instance is None else _uuid(instance), digest_of(document)


def _uuid(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))


def _microseconds(timestamp: str) -> int | None:
    try:
        return (datetime.fromisoformat(timestamp) - _ZERO) // _MICROSECOND
    except ValueError:
        return None
