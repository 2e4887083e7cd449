"""Write JSON like golang/protobuf's jsonpb, which FlyteAdmin's publishers use. Pure.

It differs from protojson and from Python's formatter: members follow the order of declaration, numbers are
Go's, and <, > and & are escaped. Source: github.com/golang/protobuf v1.5, jsonpb/encode.go.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from overrides.flyte.descriptors import Field

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ESCAPED = re.compile("[<>&\u2028\u2029]")
_WIDE = {FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64}
_FLOATS = {FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE}
# Go writes exponents from here on.
_SMALLEST, _LARGEST = 1e-6, 1e21


def dumps(message: Message) -> bytes:
    """Return the message as JSON without what is unset or has its default."""
    return _message(message).encode()


def go_time(stamp: Any) -> str:
    """Return a Timestamp in RFC 3339 with as few digits of a second as needed (Go's RFC3339Nano)."""
    whole, nanos = _whole(stamp), f"{stamp.nanos:09d}".rstrip("0")
    return f"{whole}.{nanos}Z" if nanos else f"{whole}Z"


def _message(message: Any) -> str:
    if (write := _WELL_KNOWN.get(message.DESCRIPTOR.full_name)) is not None:
        return write(message)
    members = (
        f"{_text(field.json_name)}:{_value(field, getattr(message, field.name))}"
        for field in _set_fields(message)
    )
    return "{" + ",".join(members) + "}"


def _set_fields(message: Any) -> Iterator[Field]:
    present = {field.name for field, _ in message.ListFields()}
    return (field for field in message.DESCRIPTOR.fields if field.name in present)


def _value(field: Field, value: Any) -> str:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        of_value = field.message_type.fields_by_name["value"]
        return (
            "{"
            + ",".join(f"{_text(str(name))}:{_single(of_value, value[name])}" for name in sorted(value))
            + "}"
        )
    if field.is_repeated:
        return "[" + ",".join(_single(field, item) for item in value) + "]"
    return _single(field, value)


def _single(field: Field, value: Any) -> str:
    if field.message_type is not None:
        return _message(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return f'"{known.name}"' if known else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    if field.cpp_type in _WIDE:
        return f'"{value}"'
    return (
        _float(value) if field.cpp_type in _FLOATS else _text(value) if isinstance(value, str) else str(value)
    )


def _text(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _float(number: float) -> str:
    if not math.isfinite(number):
        return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'
    if number and not _SMALLEST <= abs(number) < _LARGEST:
        return re.sub(r"e([+-])0*", r"e\1", repr(number)).replace(".0e", "e")
    text = repr(number)
    if "e" in text:
        return f"{number:.0f}" if abs(number) >= 1 else f"{number:.17f}".rstrip("0")
    return text.removesuffix(".0")


def _whole(stamp: Any) -> str:
    return (_EPOCH + timedelta(seconds=stamp.seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


def _timestamp(stamp: Any) -> str:
    return f'"{_whole(stamp)}{_fraction(stamp.nanos)}Z"'


def _duration(span: Any) -> str:
    sign = "-" if span.seconds < 0 or span.nanos < 0 else ""
    return f'"{sign}{abs(span.seconds)}{_fraction(abs(span.nanos))}s"'


def _fraction(nanos: int) -> str:
    """Return 0, 3, 6 or 9 digits."""
    text = f".{nanos:09d}"
    for _ in range(2):
        text = text.removesuffix("000")
    return text.removesuffix(".000")


def _struct(struct: Any) -> str:
    members = (f"{_text(name)}:{_any_value(struct.fields[name])}" for name in sorted(struct.fields))
    return "{" + ",".join(members) + "}"


def _list(values: Any) -> str:
    return "[" + ",".join(_any_value(item) for item in values.values) + "]"


def _any_value(value: Any) -> str:
    kind = value.WhichOneof("kind")
    if kind in (None, "null_value"):
        return "null"
    field = value.DESCRIPTOR.fields_by_name[kind]
    return _single(field, getattr(value, kind))


_WELL_KNOWN: dict[str, Callable[[Any], str]] = {
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Duration": _duration,
    "google.protobuf.Struct": _struct,
    "google.protobuf.ListValue": _list,
    "google.protobuf.Value": _any_value,
    "google.protobuf.BoolValue": lambda wrapped: "true" if wrapped.value else "false",
}
