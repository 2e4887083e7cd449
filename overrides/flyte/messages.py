"""Between stored attributes and Flyte's messages. Pure.

Stored are the JSON names and values of the message, in snake_case, so protobuf's own JSON mapping does
the work. What is ours alone is left out for Flyte: null ("take what is inherited away") and `$remove`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flyteidl.admin import matchable_resource_pb2 as flyte
from google.protobuf import json_format

from overrides.flyte.descriptors import MessageKind
from overrides.flyte.json_reading import MAX_DEPTH
from overrides.resolution.merging import REMOVE, Attributes
from overrides.resource_types import BUILT_IN, ResourceType

_BY_NUMBER = {one.number: one for one in BUILT_IN.values() if one.number is not None}
_TARGET = flyte.MatchingAttributes.DESCRIPTOR.oneofs_by_name["target"]
# What stands in these is free JSON, in which null is a value.
_FREE = {"google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"}


class NotOnTheWire(ValueError):
    """Attributes that Flyte's message cannot hold, or a message that cannot be stored."""


def type_of(number: int) -> ResourceType | None:
    """The type with this number of the enum MatchableResource."""
    return _BY_NUMBER.get(number)


def type_label(number: int) -> str:
    """The number as FlyteAdmin prints it: its name, or for an unknown one its digits."""
    value = flyte.MatchableResource.DESCRIPTOR.values_by_number.get(number)
    return value.name if value else str(number)


def stated_in(message: flyte.MatchingAttributes) -> tuple[ResourceType, Attributes] | None:
    """The type and the attributes to store; None where no member of the oneof is set.

    Raises NotOnTheWire for what protobuf transports and JSON cannot hold: a Duration of more than 10,000
    years, NaN and infinities, a deeper nesting than other readers of the attributes allow.
    """
    name = message.WhichOneof("target")
    if name is None:
        return None
    target = getattr(message, name)
    try:
        attributes: Attributes = json_format.MessageToDict(target, preserving_proto_field_name=True)
    except (json_format.Error, ValueError) as error:
        raise NotOnTheWire(str(error)) from error
    if _depth(attributes) > MAX_DEPTH:
        raise NotOnTheWire(f"exceeded maximum recursion depth {MAX_DEPTH}")
    return _BY_NUMBER[_number(name)], attributes


def message_of(one: ResourceType, attributes: Attributes) -> flyte.MatchingAttributes:
    """Stored attributes as Flyte's message. Raises NotOnTheWire."""
    message = flyte.MatchingAttributes()
    field = next(field for field in _TARGET.fields if _number(field.name) == one.number)
    target = getattr(message, field.name)
    target.SetInParent()
    kept = _flytes(attributes, field.message_type)
    try:
        json_format.ParseDict(kept, target, ignore_unknown_fields=True)
    except (
        json_format.Error,
        ValueError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise NotOnTheWire(f"{one.name}: {error}") from error
    return message


def _number(field: str) -> int:
    """The members of the oneof stand in the order of the enum, and count from 1 instead of 0."""
    return int(_TARGET.containing_type.fields_by_name[field].number) - 1


def _flytes(value: Any, message: MessageKind | None) -> Any:
    """The value without what only native resolution understands."""
    if message is not None and message.full_name in _FREE:
        return value
    if isinstance(value, Mapping):
        return {
            name: _flytes(member, _member(message, name))
            for name, member in value.items()
            if member is not None
        }
    if isinstance(value, list):
        return [_flytes(item, message) for item in value if item is not None and not _removes(item)]
    return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, (dict, list))]:
        depth += 1
        level = [below for one in level for below in (one.values() if isinstance(one, dict) else one)]
    return depth


def _member(message: MessageKind | None, name: str) -> MessageKind | None:
    field = message.fields_by_name.get(name) if message is not None else None
    return field.message_type if field is not None else None


def _removes(item: Any) -> bool:
    return isinstance(item, Mapping) and bool(item.get(REMOVE))
