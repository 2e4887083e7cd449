"""Read JSON into a message by the rules of protobuf-go's protojson, in its words. Pure.

protobuf's own Python parser forgives more: both casings of a member at once, fractions for enums.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from overrides.flyte import json_syntax
from overrides.flyte.descriptors import Field, MessageKind
from overrides.flyte.errors import FlyteError, invalid
from overrides.flyte.json_syntax import Number, Pairs, Step

# protobuf's own limit is 10,000; ours is that of every JSON body (reliability.md 3.5).
MAX_DEPTH = 32
_WELL_KNOWN = "google.protobuf."
_BOOL = "google.protobuf.BoolValue"
_JSON_OBJECT = "google.protobuf.Struct"
_TIME_SPAN = "google.protobuf.Duration"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![-+._0-9A-Za-z])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_KINDS = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_ENUM: "enum",
}
_RANGES = {"int32": (-(2**31), 2**31 - 1), "enum": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}
_MOST_DIGITS = 20
_DURATION = re.compile(r"([-+]?)(?=[0-9.])(0|[1-9][0-9]*+)?(?:\.([0-9]{0,9}))?s")
_MOST_SECONDS = 315_576_000_000
Steps = tuple[Step, ...]


class _Skip(Exception):  # no error: the lenient marshaler drops unknown names of enums
    """The value leaves its field as it is."""


class _Wrong(Exception):  # becomes a FlyteError once its place in the text is known
    """What is wrong at a place. words: `{raw}` stands for the text there."""

    def __init__(self, words: str, steps: Steps, head: str = "") -> None:
        super().__init__(words)
        self.words, self.steps, self.head = words, steps, head


def loads(body: bytes, message: Message, *, strict: bool) -> None:
    """Read a body into the message. Raises FlyteError. strict: unknown members are refused.

    What follows the first JSON value is ignored, and an empty body leaves the message as it is: Go's
    decoder behaves so.
    """
    # Bytes that are no UTF-8 become surrogates, which stand nowhere else in a decoded text.
    text = body.decode(errors="surrogateescape").lstrip(" \t\r\n")
    if not text:
        return
    value = json_syntax.read(text)
    try:
        _check_texts(value, ())
        _Reader(strict).message(message, value, ())
    except _Wrong as wrong:
        raise _told(wrong, text) from wrong


@dataclass(frozen=True, slots=True)
class _Reader:
    strict: bool

    def message(self, message: Message, value: Any, steps: Steps) -> None:
        if message.DESCRIPTOR.full_name.startswith(_WELL_KNOWN):
            _read_well_known(message, value, steps)
            return
        if not isinstance(value, Pairs):
            raise _unexpected(steps)
        seen: set[str] = set()
        for index, (name, member) in enumerate(value):
            field = _fields(message.DESCRIPTOR).get(name)
            here = (*steps, Step(index, name=True))
            if field is None:
                if self.strict:
                    raise _Wrong("unknown field {raw}", here)
                continue
            _check_once(field, seen, member, here)
            if member is not None:
                self._field(message, field, member, (*steps, Step(index)))

    def _field(self, message: Message, field: Field, value: Any, steps: Steps) -> None:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            self._map(getattr(message, field.name), field, value, steps)
        elif field.is_repeated:
            self._list(getattr(message, field.name), field, value, steps)
        elif field.message_type is not None:
            inner = getattr(message, field.name)
            inner.SetInParent()
            self.message(inner, value, steps)
        else:
            self._into(lambda read: setattr(message, field.name, read), field, value, steps)

    def _list(self, items: Any, field: Field, value: Any, steps: Steps) -> None:
        if not isinstance(value, list) or isinstance(value, Pairs):
            raise _unexpected(steps)
        for index, item in enumerate(value):
            here = (*steps, Step(index))
            if field.message_type is not None:
                self.message(items.add(), item, here)
            else:
                self._into(items.append, field, item, here)

    def _map(self, members: Any, field: Field, value: Any, steps: Steps) -> None:
        if not isinstance(value, Pairs):
            raise _unexpected(steps)
        of_value = field.message_type.fields_by_name["value"]
        for index, (name, member) in enumerate(value):
            if name in members:
                raise _Wrong("duplicate map key {raw}", (*steps, Step(index, name=True)))
            members[name] = self._scalar(of_value, member, (*steps, Step(index)))

    def _into(self, store: Callable[[Any], object], field: Field, value: Any, steps: Steps) -> None:
        try:
            store(self._scalar(field, value, steps))
        except _Skip:
            return

    def _scalar(self, field: Field, value: Any, steps: Steps) -> Any:
        kind = _KINDS[field.type]
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind == "string" and isinstance(value, str):
            return value
        if kind in _RANGES and (number := self._whole(field, value)) is not None:
            least, most = _RANGES[kind]
            if least <= number <= most:
                return number
        raise _Wrong(f"invalid value for {kind} field {field.json_name}: {{raw}}", steps)

    def _whole(self, field: Field, value: Any) -> int | None:
        if isinstance(value, Number):
            return _integer(value.text)
        if not isinstance(value, str):
            return None
        if field.enum_type is None:
            match = _NUMBER.match(value) if value == value.strip() else None
            return _integer(match[0]) if match else None
        if (named := field.enum_type.values_by_name.get(value)) is not None:
            return int(named.number)
        if self.strict:
            return None
        raise _Skip


@cache
def _fields(kind: MessageKind) -> dict[str, Field]:
    return {field.name: field for field in kind.fields} | {field.json_name: field for field in kind.fields}


def _check_once(field: Field, seen: set[str], value: Any, steps: Steps) -> None:
    if field.name in seen:
        raise _Wrong("duplicate field {raw}", steps)
    seen.add(field.name)
    if field.containing_oneof is None or value is None:
        return
    oneof = field.containing_oneof.full_name
    if oneof in seen:
        raise _Wrong(f"error parsing {{raw}}, oneof {oneof} is already set", steps)
    seen.add(oneof)


def _integer(text: str) -> int | None:
    """The number, where it is whole and of no absurd size."""
    digits = text.lower().partition("e")[0]
    if not digits.strip("-0."):
        return 0
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent beyond what even decimals have
        return None
    # Digits are not counted out: 1e999999999 is a short text.
    if not 0 <= number.adjusted() < _MOST_DIGITS or number != number.to_integral_value():
        return None
    return int(number)


def _read_well_known(message: Any, value: Any, steps: Steps) -> None:
    kind = message.DESCRIPTOR.full_name
    if kind == _BOOL:
        if not isinstance(value, bool):
            raise _Wrong("invalid value for bool field value: {raw}", steps)
        message.value = value
        return
    if kind == _TIME_SPAN and isinstance(value, str):
        message.seconds, message.nanos = _duration(value, steps)
    elif kind == _JSON_OBJECT and isinstance(value, Pairs):
        json_format.ParseDict(_plain(value, steps), message, max_recursion_depth=2 * MAX_DEPTH)
    else:
        raise _unexpected(steps)


def _duration(text: str, steps: Steps) -> tuple[int, int]:
    """Seconds and nanoseconds, of the same sign."""
    match = _DURATION.fullmatch(text)
    if match is None or len(match[2] or "") >= _MOST_DIGITS:
        raise _Wrong(f"invalid {_TIME_SPAN} value {{raw}}", steps)
    sign = -1 if match[1] == "-" else 1
    seconds = sign * int(match[2] or 0)
    if abs(seconds) > _MOST_SECONDS:
        raise _Wrong(f"{_TIME_SPAN} value out of range: {{raw}}", steps)
    return seconds, sign * int((match[3] or "").ljust(9, "0"))


def _plain(value: Any, steps: Steps) -> Any:
    """Free JSON as Python has it."""
    if isinstance(value, Pairs):
        found: dict[str, Any] = {}
        for index, (name, member) in enumerate(value):
            if name in found:
                raise _Wrong("duplicate map key {raw}", (*steps, Step(index, name=True)))
            found[name] = _plain(member, (*steps, Step(index)))
        return found
    if isinstance(value, list):
        return [_plain(item, (*steps, Step(index))) for index, item in enumerate(value)]
    if isinstance(value, Number):
        number = float(value.text)
        if not math.isfinite(number):
            raise _Wrong("invalid google.protobuf.Value: {raw}", steps)
        return number
    return value


def _check_texts(value: Any, steps: Steps) -> None:
    """Refuse half of a surrogate pair, bytes that are no UTF-8, and values that are nested too deeply."""
    if len(steps) > MAX_DEPTH:
        raise invalid("proto: exceeded max recursion depth")
    if isinstance(value, Pairs):
        for index, (name, member) in enumerate(value):
            _check_texts(name, (*steps, Step(index, name=True)))
            _check_texts(member, (*steps, Step(index)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_texts(item, (*steps, Step(index)))
    elif isinstance(value, str) and not value.isascii() and (match := _SURROGATE.search(value)):
        words = "invalid UTF-8 in string" if match[0] >= "\udc80" else "invalid escape code in string"
        raise _Wrong(words, steps, "syntax error ")


def _unexpected(steps: Steps) -> _Wrong:
    return _Wrong("unexpected token {raw}", steps, "syntax error ")


def _told(wrong: _Wrong, text: str) -> FlyteError:
    at = json_syntax.position(text, wrong.steps)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    words = wrong.words.replace("{raw}", json_syntax.raw(text, at))
    return invalid(f"proto: {wrong.head}(line {line}:{column}): {words}")
