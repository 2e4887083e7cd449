"""CloudEvents 1.0 in JSON: written exactly, read leniently. Pure.

Wire contract: dispatch.md A4. Agents need `type` and `data`; ours also has `subject` and `time`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any

from controlplane.errors import MalformedBody
from controlplane.formats.strict_json import parse_json
from controlplane.observability.trace_context import valid_traceparent

_SPEC_VERSION = "1.0"
_MAX_DEPTH = 32
# Times near the limits of the type cannot be converted to another zone, or compared with a distance.
_YEARS = range(1970, 9000)
# What `json.dumps` does with a string, without its preparations.
_quote = encode_basestring


@dataclass(frozen=True, slots=True)
class Envelope:
    """A CloudEvent. subject: that of NATS, as in DCM. time: None if the sender gave none, or no valid one.

    traceparent: of the extension for distributed tracing; empty if there is no valid one.
    """

    id: str
    source: str
    type: str
    data: Mapping[str, Any]
    subject: str = ""
    time: datetime | None = None
    traceparent: str = ""


class InvalidEnvelope(Exception):
    """The bytes are no CloudEvent whose data is an object."""


def encode(envelope: Envelope) -> bytes:
    """Return the event in its exact form: the same event always gives the same bytes."""
    return json.dumps(as_members(envelope), separators=(",", ":"), ensure_ascii=False).encode()


def encode_with_data(head: Envelope, data: str) -> bytes:
    """Return the bytes of the event with this JSON as its data, as it is."""
    time = "" if head.time is None else f',"time":"{_time(head.time)}"'
    trace = f',"traceparent":"{head.traceparent}"' if head.traceparent else ""
    return (
        f'{{"specversion":"{_SPEC_VERSION}","id":{_quote(head.id)},"type":{_quote(head.type)}'
        f',"source":{_quote(head.source)},"subject":{_quote(head.subject)}'
        f',"datacontenttype":"application/json"{time}{trace},"data":{data}}}'
    ).encode()


def _time(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def as_members(envelope: Envelope) -> dict[str, Any]:
    members: dict[str, Any] = {
        "specversion": _SPEC_VERSION,
        "id": envelope.id,
        "type": envelope.type,
        "source": envelope.source,
        "subject": envelope.subject,
        "datacontenttype": "application/json",
    }
    if envelope.time is not None:
        members["time"] = _time(envelope.time)
    if envelope.traceparent:
        members["traceparent"] = envelope.traceparent
    return {**members, "data": dict(envelope.data)}


def decode(body: bytes) -> Envelope:
    """Read an event, whatever else it contains. Raises InvalidEnvelope."""
    try:
        members = parse_json(body, max_depth=_MAX_DEPTH)
    except MalformedBody as error:
        raise InvalidEnvelope(str(error)) from error
    if not isinstance(members, dict):
        raise InvalidEnvelope("It is not a JSON object.")
    texts = {name: members.get(name) for name in ("id", "source", "type")}
    missing = [name for name, value in texts.items() if not isinstance(value, str) or not value]
    if missing:
        raise InvalidEnvelope(f"It lacks {', '.join(missing)}.")
    data = members.get("data")
    if not isinstance(data, dict):
        raise InvalidEnvelope("Its data is not an object.")
    subject = members.get("subject")
    return Envelope(
        texts["id"] or "",
        texts["source"] or "",
        texts["type"] or "",
        data,
        subject if isinstance(subject, str) else "",
        read_time(members.get("time")),
        valid_traceparent(members.get("traceparent")),
    )


def read_time(value: Any) -> datetime | None:
    """Return the time with its zone; None if it is none, or one that no clock shows."""
    try:
        read = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return read if read.tzinfo and read.year in _YEARS else None
