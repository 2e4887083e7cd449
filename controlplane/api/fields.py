"""Serializer bases and fields for strict JSON: no coercion, no unknown names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request

from controlplane.api.object_selection import PARAMETERS, may_select
from controlplane.api.sorting import SortField
from controlplane.api.suggestions import suggest
from controlplane.errors import FieldError, InvalidRequest

INVALID = "The request is invalid. Correct the errors listed in `errors`."
# The error of a word that is not in a fixed set.
UNKNOWN_WORD = "unknown_word"
# DRF's texts use Python's terms for JSON: True, None, dict.
serializers.ChoiceField.default_error_messages["invalid_choice"] = "This is not one of the allowed values."
serializers.ListField.default_error_messages["not_a_list"] = "This must be a list."
serializers.DictField.default_error_messages["not_a_dict"] = "This must be an object."
serializers.Serializer.default_error_messages["invalid"] = "This must be an object."
serializers.ListSerializer.default_error_messages["not_a_list"] = "This must be a list."


class StrictSerializer(serializers.Serializer[Any]):
    # Rejects unknown fields and suggests the nearest valid name. This is a comment because drf-spectacular
    # would repeat a docstring as the description of every request schema.

    def to_internal_value(self, data: Any) -> Any:
        unknown = self._unknown(data) if isinstance(data, Mapping) else {}
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if unknown and isinstance(error.detail, dict):
                error.detail.update(unknown)
            raise
        if unknown:
            raise serializers.ValidationError(unknown)
        return value

    def _unknown(self, data: Mapping[str, Any]) -> dict[str, list[Any]]:
        writable = [name for name, field in self.fields.items() if not field.read_only]
        return {
            name: [serializers.ErrorDetail(unknown_name(name, writable), code="unknown_field")]
            for name in data
            if name not in writable
        }


def unknown_name(name: str, valid_names: list[str]) -> str:
    if nearest := suggest(name, valid_names):
        return f"Unknown name {name[:80]!r}. Did you mean {nearest!r}?"
    return f"Unknown name {name[:80]!r}. Valid names: {', '.join(sorted(valid_names)) or 'none'}."


def parse_body(serializer: type[StrictSerializer], request: Request) -> dict[str, Any]:
    """Return the validated body. Raises InvalidRequest with all errors."""
    parsed = serializer(data=request.data)
    if not parsed.is_valid():
        errors = [_with_choices(error, parsed) for error in field_errors(parsed.errors)]
        raise InvalidRequest(INVALID, errors=errors)
    return dict(parsed.validated_data)


def _with_choices(error: FieldError, parsed: serializers.Serializer[Any]) -> FieldError:
    """Add the allowed values and the nearest one to the error of a choice, at any depth."""
    if error.code not in ("invalid_choice", UNKNOWN_WORD):
        return error
    field, value = _field_at(parsed, parsed.initial_data, error.pointer[1:].split("/"))
    if not isinstance(field, serializers.ChoiceField | SortField | WordsField):
        return error
    written = str(value)
    if isinstance(field, SortField):
        allowed, written = tuple(field.sort_keys.columns), field.unknown_key(written)
    elif isinstance(field, WordsField):
        allowed, written = field.allowed, field.unknown_words(written)[0]
    else:
        allowed = tuple(str(choice) for choice in field.choices)
    nearest = suggest(written, allowed)
    return replace(error, allowed=allowed, hint=f"Did you mean {nearest!r}?" if nearest else "")


def _field_at(field: Any, value: Any, steps: Sequence[str]) -> tuple[Any, Any]:
    """Return the field that the steps of a pointer lead to, and its value; None if there is none."""
    for step in steps:
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            field, value = getattr(field, "child", None), value[int(step)]
        elif isinstance(value, Mapping):
            members = getattr(field, "fields", None)
            field = members.get(step) if members is not None else getattr(field, "child", None)
            value = value.get(step)
        else:
            return None, None
    return field, value


class Query(serializers.Serializer[Any]):
    """Base class for query parameters. Unknown and repeated parameters are errors.

    repeatable: parameters that may be repeated; their values are joined by commas.
    """

    repeatable: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def parse(cls, request: Request) -> dict[str, Any]:
        parameters = request.query_params
        fields = cls._declared_fields
        if not fields and not parameters:
            return {}
        errors = [
            FieldError(f"?{name}", "unknown_parameter", unknown_name(name, list(fields)))
            for name in parameters
            if name not in fields and not (name in PARAMETERS and _may_select(request))
        ]
        errors += [
            FieldError(f"?{name}", "repeated_parameter", f"The parameter {name} is repeated. Send it once.")
            for name in parameters
            if len(parameters.getlist(name)) > 1 and name not in cls.repeatable
        ]
        parsed = cls(data={name: ",".join(parameters.getlist(name)) for name in parameters if name in fields})
        if not parsed.is_valid():
            errors += [
                _with_choices(FieldError(f"?{name}", str(message.code), str(message)), parsed)
                for name, details in parsed.errors.items()
                for message in details
            ]
        if errors:
            raise InvalidRequest(" ".join(error.message for error in errors[:3]), errors=errors)
        return dict(parsed.validated_data)


def _may_select(request: Request) -> bool:
    """Return whether the endpoint selects fields of what it answers."""
    return may_select(request.parser_context["view"], request.method)


class Text(serializers.CharField):
    """A JSON string. Keeps spaces, rejects control characters."""

    def __init__(self, *, lines: bool = False, **options: Any) -> None:
        self._lines = lines
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        text = super().to_internal_value(data)
        allowed = "\n\t" if self._lines else ""
        if any(
            unicodedata.category(character).startswith("C") and character not in allowed for character in text
        ):
            raise serializers.ValidationError(
                "The text contains a non-printable character.", code="unprintable"
            )
        return text


class Whole(serializers.IntegerField):
    """A JSON integer: not a string, a boolean or 5.0."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """JSON true or false, not "yes" or 1."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return bool(data)


class WordsField(serializers.CharField):
    """Words of a fixed set, separated by commas. The value is a list. kind: what each is, as `a state`."""

    def __init__(self, allowed: Iterable[str], *, kind: str, **options: Any) -> None:
        self.allowed, self._kind = tuple(str(word) for word in allowed), kind
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        if unknown := self.unknown_words(text):
            raise serializers.ValidationError(
                f"{unknown[0][:80]!r} is not {self._kind}. Use one of: {', '.join(self.allowed)}.",
                code=UNKNOWN_WORD,
            )
        return _words(text)

    def unknown_words(self, text: str) -> list[str]:
        return [word for word in _words(text) if word not in self.allowed]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


class Instant(serializers.DateTimeField):
    """An RFC 3339 time with an offset, in the range that Postgres and Python support."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or not _has_offset(data):
            raise serializers.ValidationError(
                "Use an RFC 3339 time with an offset, such as 2026-11-21T09:30:00Z.",
                code="invalid",
            )
        try:
            return super().to_internal_value(data)
        except (OverflowError, ValueError) as error:
            raise serializers.ValidationError("The time is out of range.", code="invalid") from error


def _has_offset(text: str) -> bool:
    return text[-1:] in "Zz" or text[-6:-5] in ("+", "-")


_NON_FIELD = "non_field_errors"


def field_errors(detail: Any, pointer: str = "") -> list[FieldError]:
    return list(_walk(detail, pointer))


def _walk(detail: Any, pointer: str) -> Iterator[FieldError]:
    if isinstance(detail, dict):
        for name, below in detail.items():
            yield from _walk(below, pointer if name == _NON_FIELD else f"{pointer}/{_escape(str(name))}")
    elif isinstance(detail, list) and any(isinstance(entry, dict | list) for entry in detail):
        for index, below in enumerate(detail):
            yield from _walk(below, f"{pointer}/{index}")
    elif isinstance(detail, list):
        for entry in detail:
            yield from _walk(entry, pointer)
    elif isinstance(detail, FieldError):
        yield detail
    else:
        yield FieldError(pointer, getattr(detail, "code", None) or "invalid", str(detail))


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
