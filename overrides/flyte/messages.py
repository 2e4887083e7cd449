"""Convert between stored attributes and Flyte's messages. Pure.

Stored attributes have the message's JSON names and values, in snake_case, so protobuf's own JSON mapping
converts them. What Flyte does not support is left out: null (remove the inherited value) and `$remove`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flyteidl.admin import matchable_resource_pb2 as flyte
from google.protobuf import json_format

from controlplane.formats.strict_json import depth_of
from overrides.flyte.descriptors import MessageKind
from overrides.flyte.json_reading import MAX_DEPTH
from overrides.resolution.merging import REMOVE, Attributes
from overrides.resource_types import BUILT_IN, ResourceType

_BY_NUMBER = {
    resource_type.number: resource_type
    for resource_type in BUILT_IN.values()
    if resource_type.number is not None
}
_TARGET = flyte.MatchingAttributes.DESCRIPTOR.oneofs_by_name["target"]
# These contain free JSON, in which null is a value.
_FREE = {"google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"}


class NotOnTheWire(ValueError):
    """Attributes that Flyte's message cannot represent, or a message that cannot be stored."""


def type_of(number: int) -> ResourceType | None:
    """Return the type with this number in the enum MatchableResource."""
    return _BY_NUMBER.get(number)


def type_label(number: int) -> str:
    """Return the number as FlyteAdmin prints it: its name, or its digits if it is unknown."""
    value = flyte.MatchableResource.DESCRIPTOR.values_by_number.get(number)
    return value.name if value else str(number)


def read_message(message: flyte.MatchingAttributes) -> tuple[ResourceType, Attributes] | None:
    """Return the type and the attributes to store; None if no member of the oneof is set.

    Raises NotOnTheWire for what protobuf can represent and JSON cannot: a Duration of more than 10,000
    years, NaN and infinities; and for nesting deeper than other readers of the attributes allow.
    """
    name = message.WhichOneof("target")
    if name is None:
        return None
    target = getattr(message, name)
    try:
        attributes: Attributes = json_format.MessageToDict(target, preserving_proto_field_name=True)
    except (json_format.Error, ValueError) as error:
        raise NotOnTheWire(str(error)) from error
    if depth_of(attributes) > MAX_DEPTH:
        raise NotOnTheWire(f"exceeded maximum recursion depth {MAX_DEPTH}")
    return _BY_NUMBER[_number(name)], attributes


def message_of(resource_type: ResourceType, attributes: Attributes) -> flyte.MatchingAttributes:
    """Return stored attributes as Flyte's message. Raises NotOnTheWire."""
    message = flyte.MatchingAttributes()
    field = next(field for field in _TARGET.fields if _number(field.name) == resource_type.number)
    target = getattr(message, field.name)
    target.SetInParent()
    flyte_attributes = _without_removals(attributes, field.message_type)
    try:
        json_format.ParseDict(flyte_attributes, target, ignore_unknown_fields=True)
    except (
        json_format.Error,
        ValueError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise NotOnTheWire(f"{resource_type.name}: {error}") from error
    return message


def _number(field: str) -> int:
    """Return the enum's number of a oneof member: same order, but fields count from 1."""
    return int(_TARGET.containing_type.fields_by_name[field].number) - 1


def _without_removals(value: Any, message: MessageKind | None) -> Any:
    """Remove what only native resolution understands."""
    if message is not None and message.full_name in _FREE:
        return value
    if isinstance(value, Mapping):
        return {
            name: _without_removals(member, _member(message, name))
            for name, member in value.items()
            if member is not None
        }
    if isinstance(value, list):
        return [_without_removals(item, message) for item in value if item is not None and not _removes(item)]
    return value


def _member(message: MessageKind | None, name: str) -> MessageKind | None:
    field = message.fields_by_name.get(name) if message is not None else None
    return field.message_type if field is not None else None


def _removes(item: Any) -> bool:
    return isinstance(item, Mapping) and bool(item.get(REMOVE))
