"""Write JSON like the gateway's marshalers (protobuf-go's protojson, EmitUnpopulated). Pure.

protobuf's own Python formatter cannot do that: it omits unset messages, where Go writes null.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.any_pb2 import Any as Any_
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from overrides.flyte.descriptors import EnumKind, Field

_WIDE = {
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
}
# protobuf defines special JSON for these: Duration, Struct, BoolValue, Any, ...
_WELL_KNOWN = "google.protobuf."


def dumps(message: Message, *, camel: bool) -> bytes:
    """Return the message as JSON with null for unset messages, and empty lists and maps."""
    return json.dumps(_as_json(message, camel), ensure_ascii=False, separators=(",", ":")).encode()


def _as_json(message: Message, camel: bool) -> Any:
    if isinstance(message, Any_):
        return _any(message, camel)
    if message.DESCRIPTOR.full_name.startswith(_WELL_KNOWN):
        return json_format.MessageToDict(message, preserving_proto_field_name=not camel)
    return {
        field.json_name if camel else field.name: _value(message, field, camel)
        for field in message.DESCRIPTOR.fields
        if field.containing_oneof is None or message.HasField(field.name)
    }


def _any(message: Any_, camel: bool) -> Any:
    """Return the contained message with the name of its type."""
    kind = message.TypeName()
    inner = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(kind))()
    message.Unpack(inner)
    return {"@type": message.type_url, **_as_json(inner, camel)}


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
        return lambda value: _as_json(value, camel)
    if field.enum_type is not None:
        return lambda value: _enum(field.enum_type, value)
    return str if field.type in _WIDE else lambda value: value


def _enum(kind: EnumKind, number: int) -> str | int:
    value = kind.values_by_number.get(number)
    return value.name if value else number
