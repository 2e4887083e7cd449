"""Events as CloudEvents 1.0.2, in structured and binary mode. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from controlplane.delivery.logged_event import LoggedEvent

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
TYPE_PREFIX = "dev.controlplane."
SCHEMA_VERSION = 1
_JSON = "application/json"
# CloudEvents' integers have 32 bits, "Type System".
_SEQUENCE_DIGITS = 20


@dataclass(frozen=True, slots=True)
class Origin:
    """Where events come from. source: empty for one made of the public URL."""

    public_url: str
    source: str = ""

    @property
    def name(self) -> str:
        return self.source or f"//{urlsplit(self.public_url).netloc}/controlplane"

    def schema_url(self, event_type: str) -> str:
        """Return where the JSON Schema of a type's data is served."""
        path = f"/api/v1/event-types/{quote(event_type, safe='')}/schema?v={SCHEMA_VERSION}"
        return self.public_url.rstrip("/") + path

    def event_url(self, event: LoggedEvent) -> str:
        """Return where the event can be read."""
        return f"{self.public_url.rstrip('/')}/api/v1/events?after={event.seq - 1}&limit=1"

    def audit_url(self, event: LoggedEvent) -> str:
        """Return where the audit records of the event's object can be read."""
        parameters = urlencode({"object_type": event.object_type, "object_id": event.object_id})
        return f"{self.public_url.rstrip('/')}/api/v1/audit?{parameters}"


def type_of(event_type: str) -> str:
    """Return the CloudEvents type, such as `dev.controlplane.agent.unavailable.v1`."""
    return f"{TYPE_PREFIX}{event_type}.v{SCHEMA_VERSION}"


def attributes(event: LoggedEvent, origin: Origin, *, key: str = "") -> dict[str, str]:
    """Return the context attributes with our extensions, in the order of the specification.

    key: the ordering key; the object's by default. They are equal for every sink, attempt and replay.
    """
    optional = {
        "cprequestid": event.request_id,
        "cpteam": event.team,
        # The extension for distributed tracing.
        "traceparent": event.traceparent,
    }
    return {
        "specversion": "1.0",
        "id": str(event.id),
        "source": origin.name,
        "type": type_of(event.type),
        "subject": f"{quote(event.object_type, safe='')}/{quote(event.object_id, safe='')}",
        "time": _rfc3339(event.at),
        "datacontenttype": _JSON,
        "dataschema": origin.schema_url(event.type),
        "cpseq": str(event.seq),
        "cpactor": event.actor,
        **{name: value for name, value in optional.items() if value},
        "partitionkey": key or event.object_key,
        "sequence": f"{event.seq:0{_SEQUENCE_DIGITS}d}",
    }


def structured(event: LoggedEvent, origin: Origin, *, key: str = "", most_bytes: int = 0) -> bytes:
    """Return the event as one JSON document. most_bytes: above it, `data` is a reference; 0: never."""
    head: dict[str, Any] = attributes(event, origin, key=key)
    whole = msgspec.json.encode({**head, "data": event.whole_data})
    if not most_bytes or len(whole) <= most_bytes:
        return whole
    return msgspec.json.encode({**head, "data": {"ref": origin.event_url(event)}})


def binary(
    event: LoggedEvent, origin: Origin, *, prefix: str, key: str = "", most_bytes: int = 0
) -> tuple[dict[str, str], bytes]:
    """Return headers and body of binary mode. prefix: of attributes, as `ce-` (HTTP, NATS) or `ce_` (Kafka).

    Header values are percent-encoded as the HTTP binding demands (3.1.3.2). most_bytes: above it, the body is
    a reference; 0: never.
    """
    head = attributes(event, origin, key=key)
    content_type = head.pop("datacontenttype")
    headers = {f"{prefix}{name}": _header_value(value) for name, value in head.items()}
    body = msgspec.json.encode(event.whole_data)
    if most_bytes and len(body) > most_bytes:
        body = msgspec.json.encode({"ref": origin.event_url(event)})
    return {"content-type": content_type, **headers}, body


def _header_value(value: str) -> str:
    # Space, double quote, percent sign and everything outside of printable ASCII.
    kept = "".join(chr(number) for number in range(0x21, 0x7F) if chr(number) not in '"%')
    return quote(value, safe=kept)


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
