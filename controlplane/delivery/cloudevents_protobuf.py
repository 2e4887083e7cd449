"""CloudEvents' protobuf format (io.cloudevents.v1.CloudEvent), written without protobuf's package. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

# Field numbers of the message.
_REQUIRED = {"id": 1, "source": 2, "specversion": 3, "type": 4}
_ATTRIBUTES, _BINARY_DATA = 5, 6
# Of CloudEventAttributeValue.
_STRING, _TIMESTAMP = 3, 7
_LENGTH_DELIMITED = 2


def protobuf_event(attributes: Mapping[str, str], data: bytes) -> bytes:
    """Return the event with binary data. Attributes are sorted by their names."""
    required = [
        _field(number, attributes[name].encode())
        for name, number in _REQUIRED.items()
        if attributes.get(name)
    ]
    others = [
        _field(_ATTRIBUTES, _field(1, name.encode()) + _field(2, _attribute(name, attributes[name])))
        for name in sorted(attributes)
        if name not in _REQUIRED
    ]
    return b"".join((*required, *others, _field(_BINARY_DATA, data)))


def _attribute(name: str, value: str) -> bytes:
    return _field(_TIMESTAMP, _timestamp(value)) if name == "time" else _field(_STRING, value.encode())


def _timestamp(text: str) -> bytes:
    """Return a google.protobuf.Timestamp of an RFC 3339 time in UTC with up to nine digits of a second."""
    whole, _, fraction = text.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
    nanos = int(fraction.ljust(9, "0")) if fraction else 0
    return _number(1, seconds) + _number(2, nanos)


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value % 2**64) if value else b""


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    content = bytearray()
    while value > 0x7F:
        content.append(value & 0x7F | 0x80)
        value >>= 7
    content.append(value)
    return bytes(content)
