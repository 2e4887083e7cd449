"""Read JSON into a message by the rules and with the errors of protobuf-go's protojson. Pure.

protobuf's own Python parser is more lenient: it accepts both casings of a member, and fractions for enums.
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

from overrides.flyte import json_syntax, json_values
from overrides.flyte.descriptors import Field, MessageKind
from overrides.flyte.errors import FlyteError, invalid
from overrides.flyte.json_syntax import Number, Pairs, Step

# protobuf's own limit is 10,000; this is the limit of every JSON body (reliability.md 3.5).
MAX_DEPTH = 32
_WELL_KNOWN = "google.protobuf."
_BOOL = "google.protobuf.BoolValue"
_TIME = "google.protobuf.Timestamp"
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
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
}
_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "enum": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
_MOST_DIGITS = 20
_DURATION = re.compile(r"([-+]?)(?=[0-9.])(0|[1-9][0-9]*+)?(?:\.([0-9]{0,9}))?s")
_MOST_SECONDS = 315_576_000_000
Steps = tuple[Step, ...]


class _Skip(Exception):  # not an error: the lenient marshaler drops unknown enum names
    """The value leaves its field unchanged."""


class _InvalidValue(Exception):  # becomes a FlyteError once its position in the text is known
    """An invalid value. message: `{raw}` is replaced by the text of the value."""

    def __init__(self, message: str, steps: Steps, head: str = "") -> None:
        super().__init__(message)
        self.message, self.steps, self.head = message, steps, head


def loads(body: bytes, message: Message, *, strict: bool) -> None:
    """Read a body into the message. Raises FlyteError. strict: unknown members are refused.

    Text after the first JSON value is ignored, and an empty body leaves the message unchanged, as in Go's
    decoder.
    """
    # Bytes that are not UTF-8 become surrogates, which cannot occur in decoded text otherwise.
    text = body.decode(errors="surrogateescape").lstrip(" \t\r\n")
    if not text:
        return
    value = json_syntax.read(text)
    try:
        _check_texts(value, ())
        _Reader(strict).message(message, value, ())
    except _InvalidValue as error:
        raise _flyte_error(error, text) from error


@dataclass(frozen=True, slots=True)
class _Reader:
    strict: bool

    def message(self, message: Message, value: Any, steps: Steps) -> None:
        if message.DESCRIPTOR.full_name.startswith(_WELL_KNOWN):
            _read_well_known(message, value, steps)
            return
        if not isinstance(value, Pairs):
            raise _unexpected(steps)
        names: set[str] = set()
        for index, (name, member) in enumerate(value):
            field = _fields(message.DESCRIPTOR).get(name)
            here = (*steps, Step(index, name=True))
            if field is None:
                if self.strict:
                    raise _InvalidValue("unknown field {raw}", here)
                continue
            _check_once(field, names, member, here)
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
                raise _InvalidValue("duplicate map key {raw}", (*steps, Step(index, name=True)))
            here = (*steps, Step(index))
            if of_value.message_type is not None:
                members[name].SetInParent()
                self.message(members[name], member, here)
            else:
                members[name] = self._scalar(of_value, member, here)

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
            minimum, maximum = _RANGES[kind]
            if minimum <= number <= maximum:
                return number
        if (special := _special(kind, value)) is not None:
            return special
        raise _InvalidValue(f"invalid value for {kind} field {field.json_name}: {{raw}}", steps)

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


def _special(kind: str, value: Any) -> bytes | float | None:
    """Return bytes or a floating-point number; None for everything else."""
    if kind == "bytes" and isinstance(value, str):
        return json_values.bytes_of(value)
    if kind not in ("double", "float") or not isinstance(value, Number | str):
        return None
    is_name = isinstance(value, str)
    text = value if isinstance(value, str) else value.text
    if is_name and not (_NUMBER.fullmatch(text) or text.isalpha() or text == "-Infinity"):
        return None
    return json_values.float_of(text, is_name=is_name, is_single=kind == "float")


@cache
def _fields(kind: MessageKind) -> dict[str, Field]:
    return {field.name: field for field in kind.fields} | {field.json_name: field for field in kind.fields}


def _check_once(field: Field, names: set[str], value: Any, steps: Steps) -> None:
    if field.name in names:
        raise _InvalidValue("duplicate field {raw}", steps)
    names.add(field.name)
    if field.containing_oneof is None or value is None:
        return
    oneof = field.containing_oneof.full_name
    if oneof in names:
        raise _InvalidValue(f"error parsing {{raw}}, oneof {oneof} is already set", steps)
    names.add(oneof)


def _integer(text: str) -> int | None:
    """Return the number if it is an integer of reasonable size."""
    digits = text.lower().partition("e")[0]
    if not digits.strip("-0."):
        return 0
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent beyond the range of decimals
        return None
    # Avoid expanding the digits: 1e999999999 is a short text.
    if not 0 <= number.adjusted() < _MOST_DIGITS or number != number.to_integral_value():
        return None
    return int(number)


def _read_well_known(message: Any, value: Any, steps: Steps) -> None:
    kind = message.DESCRIPTOR.full_name
    if kind == _BOOL:
        if not isinstance(value, bool):
            raise _InvalidValue("invalid value for bool field value: {raw}", steps)
        message.value = value
        return
    if kind == _TIME_SPAN and isinstance(value, str):
        message.seconds, message.nanos = _duration(value, steps)
    elif kind == _TIME and isinstance(value, str):
        if not json_values.read_time(message, value):
            raise _InvalidValue(f"invalid {_TIME} value {{raw}}", steps)
    elif kind == _JSON_OBJECT and isinstance(value, Pairs):
        json_format.ParseDict(_plain(value, steps), message, max_recursion_depth=2 * MAX_DEPTH)
    else:
        raise _unexpected(steps)


def _duration(text: str, steps: Steps) -> tuple[int, int]:
    """Return seconds and nanoseconds, with the same sign."""
    match = _DURATION.fullmatch(text)
    if match is None or len(match[2] or "") >= _MOST_DIGITS:
        raise _InvalidValue(f"invalid {_TIME_SPAN} value {{raw}}", steps)
    sign = -1 if match[1] == "-" else 1
    seconds = sign * int(match[2] or 0)
    if abs(seconds) > _MOST_SECONDS:
        raise _InvalidValue(f"{_TIME_SPAN} value out of range: {{raw}}", steps)
    return seconds, sign * int((match[3] or "").ljust(9, "0"))


def _plain(value: Any, steps: Steps) -> Any:
    """Return free JSON as Python values."""
    if isinstance(value, Pairs):
        members: dict[str, Any] = {}
        for index, (name, member) in enumerate(value):
            if name in members:
                raise _InvalidValue("duplicate map key {raw}", (*steps, Step(index, name=True)))
            members[name] = _plain(member, (*steps, Step(index)))
        return members
    if isinstance(value, list):
        return [_plain(item, (*steps, Step(index))) for index, item in enumerate(value)]
    if isinstance(value, Number):
        number = float(value.text)
        if not math.isfinite(number):
            raise _InvalidValue("invalid google.protobuf.Value: {raw}", steps)
        return number
    return value


def _check_texts(value: Any, steps: Steps) -> None:
    """Refuse unpaired surrogates, bytes that are not UTF-8, and values that are nested too deeply."""
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
        message = "invalid UTF-8 in string" if match[0] >= "\udc80" else "invalid escape code in string"
        raise _InvalidValue(message, steps, "syntax error ")


def _unexpected(steps: Steps) -> _InvalidValue:
    return _InvalidValue("unexpected token {raw}", steps, "syntax error ")


def _flyte_error(error: _InvalidValue, text: str) -> FlyteError:
    at = json_syntax.position(text, error.steps)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    message = error.message.replace("{raw}", json_syntax.raw(text, at))
    return invalid(f"proto: {error.head}(line {line}:{column}): {message}")
