"""JSON as the gateway's marshalers write and read it (protobuf-go's protojson, EmitUnpopulated). Pure.

protobuf's own Python formatter cannot write it: it leaves unset messages out, where Go writes null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from overrides.flyte.descriptors import EnumKind, Field
from overrides.flyte.errors import FlyteError, invalid

_WIDE = {
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
}
# protobuf has JSON of its own for these: Duration, Struct, BoolValue, Any, ...
_WELL_KNOWN = "google.protobuf."
_NO_FIELD = re.compile(r'has no field named "(?P<name>[^"]*)"')
_TWO_OF_ONE = re.compile(r'Message type "(?P<message>[^"]*)" should not have multiple "(?P<oneof>[^"]*)"')
# protobuf's own limit is 100; ours is that of every JSON body (reliability.md 3.5).
MAX_DEPTH = 32


def dumps(message: Message, *, camel: bool) -> bytes:
    """Unset messages as null, empty lists and maps, members of an unset oneof not at all."""
    return json.dumps(_shown(message, camel), ensure_ascii=False, separators=(",", ":")).encode()


def _shown(message: Message, camel: bool) -> Any:
    if message.DESCRIPTOR.full_name.startswith(_WELL_KNOWN):
        return json_format.MessageToDict(message, preserving_proto_field_name=not camel)
    return {
        field.json_name if camel else field.name: _value(message, field, camel)
        for field in message.DESCRIPTOR.fields
        if field.containing_oneof is None or message.HasField(field.name)
    }


def _value(message: Message, field: Field, camel: bool) -> Any:
    value = getattr(message, field.name)
    show = _shower(field, camel)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        of_value = _shower(field.message_type.fields_by_name["value"], camel)
        return {str(name): of_value(value[name]) for name in sorted(value)}
    if field.is_repeated:
        return [show(item) for item in value]
    if field.message_type is not None and not message.HasField(field.name):
        return None
    return show(value)


def _shower(field: Field, camel: bool) -> Callable[[Any], Any]:
    if field.message_type is not None:
        return lambda value: _shown(value, camel)
    if field.enum_type is not None:
        return lambda value: _enum(field.enum_type, value)
    return str if field.type in _WIDE else lambda value: value


def _enum(kind: EnumKind, number: int) -> str | int:
    value = kind.values_by_number.get(number)
    return value.name if value else number


def loads(body: bytes, message: Message, *, strict: bool) -> None:
    """Read a body into the message. Raises FlyteError. strict: unknown members are refused.

    What follows the first JSON value is ignored, and an empty body leaves the message as it is: Go's
    decoder behaves so.
    """
    text = _text(body)
    if not text.strip():
        return
    try:
        json_format.ParseDict(
            _document(text), message, ignore_unknown_fields=not strict, max_recursion_depth=MAX_DEPTH
        )
    except json_format.ParseError as error:
        raise _refused(str(error), text) from error


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise invalid(f"proto: invalid UTF-8 at byte {error.start}") from error


def _document(text: str) -> Any:
    try:
        document, _ = json.JSONDecoder(object_pairs_hook=_once).raw_decode(text.lstrip(" \t\r\n"))
    except json.JSONDecodeError as error:
        lost = len(text) - len(text.lstrip(" \t\r\n"))
        line, column = _position(text, error.pos + lost)
        raise invalid(f"proto: syntax error (line {line}:{column}): {error.msg}") from error
    except RecursionError as error:
        raise invalid("proto: exceeded maximum recursion depth") from error
    except ValueError as error:  # a number of thousands of digits
        raise invalid(f"proto: invalid value: {error}"[:200]) from error
    if not isinstance(document, dict):
        raise invalid("proto: syntax error (line 1:1): unexpected token, an object is expected")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise invalid(f'proto: duplicate field "{twice}"')
    return document


def _refused(message: str, text: str) -> FlyteError:
    """In Go's words where the message is one that clients may look for."""
    if unknown := _NO_FIELD.search(message):
        name = unknown["name"]
        found = re.search(rf"{re.escape(json.dumps(name, ensure_ascii=False))}\s*:", text)
        line, column = _position(text, found.start() if found else 0)
        return invalid(f'proto: (line {line}:{column}): unknown field "{name}"')
    if two := _TWO_OF_ONE.search(message):
        return invalid(f"proto: oneof {two['message']}.{two['oneof']} is already set")
    return invalid(f"proto: {message}")


def _position(text: str, at: int) -> tuple[int, int]:
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
