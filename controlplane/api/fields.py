"""Serializer bases and fields that take JSON at its word: no coercion, no unknown names."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from controlplane.errors import FieldError, InvalidRequest

# The framework's texts show Python's words for JSON: True, None, dict.
serializers.ChoiceField.default_error_messages["invalid_choice"] = "This is not one of the allowed values."
serializers.ListField.default_error_messages["not_a_list"] = "This must be a list."
serializers.DictField.default_error_messages["not_a_dict"] = "This must be an object."
serializers.Serializer.default_error_messages["invalid"] = "This must be an object."
serializers.ListSerializer.default_error_messages["not_a_list"] = "This must be a list."


class StrictSerializer(serializers.Serializer[Any]):
    # Refuses unknown members and names the nearest known one. A comment and no docstring: drf-spectacular
    # would repeat an inherited docstring as the description of every request schema.

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
        known = [name for name, field in self.fields.items() if not field.read_only]
        return {
            name: [serializers.ErrorDetail(unknown_name(name, known), code="unknown_field")]
            for name in data
            if name not in known
        }


def unknown_name(name: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if nearest:
        return f"There is no {name[:80]!r} here. Did you mean {nearest[0]!r}?"
    return f"There is no {name[:80]!r} here. Known: {', '.join(sorted(known)) or 'none'}."


def parse_body(serializer: type[StrictSerializer], request: Request) -> dict[str, Any]:
    """Return the validated body. Raises InvalidRequest's DRF twin with every error at once."""
    parsed = serializer(data=request.data)
    parsed.is_valid(raise_exception=True)
    return dict(parsed.validated_data)


class Query(serializers.Serializer[Any]):
    """Base of the query parameters of one operation. Unknown and repeated parameters are errors."""

    @classmethod
    def parse(cls, request: Request) -> dict[str, Any]:
        sent = request.query_params
        fields = cls().fields
        found = [
            FieldError(f"?{name}", "unknown_parameter", unknown_name(name, list(fields)))
            for name in sent
            if name not in fields
        ]
        found += [
            FieldError(f"?{name}", "repeated_parameter", f"{name} is given more than once.")
            for name in sent
            if len(sent.getlist(name)) > 1
        ]
        parsed = cls(data={name: sent[name] for name in sent if name in fields})
        if not parsed.is_valid():
            found += [
                FieldError(f"?{name}", str(one.code), str(one))
                for name, details in parsed.errors.items()
                for one in details
            ]
        if found:
            raise InvalidRequest(" ".join(error.message for error in found[:3]), errors=found)
        return dict(parsed.validated_data)


class Text(serializers.CharField):
    """A JSON string and nothing else; spaces are kept, characters that cannot be printed refused."""

    def __init__(self, *, lines: bool = False, **options: Any) -> None:
        self._lines = lines
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        text = super().to_internal_value(data)
        harmless = "\n\t" if self._lines else ""
        if any(unicodedata.category(one).startswith("C") and one not in harmless for one in text):
            raise serializers.ValidationError(
                "It has a character that cannot be printed.", code="unprintable"
            )
        return text


class Whole(serializers.IntegerField):
    """A JSON integer: no string, no boolean, no 5.0."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """JSON true or false, not "yes" and not 1."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return bool(data)


class Instant(serializers.DateTimeField):
    """An RFC 3339 time with its offset, within the years that Postgres and Python share."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or not _has_offset(data):
            raise serializers.ValidationError(
                "Give an RFC 3339 time with its offset, such as 2026-11-21T09:30:00Z.",
                code="invalid",
            )
        try:
            return super().to_internal_value(data)
        except (OverflowError, ValueError) as error:
            raise serializers.ValidationError("The time is out of range.", code="invalid") from error


def _has_offset(text: str) -> bool:
    return text[-1:] in "Zz" or text[-6:-5] in ("+", "-")


_NOT_A_FIELD = "non_field_errors"


def field_errors(detail: Any, pointer: str = "") -> list[FieldError]:
    return list(_walk(detail, pointer))


def _walk(detail: Any, pointer: str) -> Iterator[FieldError]:
    if isinstance(detail, dict):
        for name, below in detail.items():
            yield from _walk(below, pointer if name == _NOT_A_FIELD else f"{pointer}/{_escape(str(name))}")
    elif isinstance(detail, list) and any(isinstance(one, dict | list) for one in detail):
        for index, below in enumerate(detail):
            yield from _walk(below, f"{pointer}/{index}")
    elif isinstance(detail, list):
        for one in detail:
            yield from _walk(one, pointer)
    elif isinstance(detail, FieldError):
        yield detail
    else:
        yield FieldError(pointer, getattr(detail, "code", None) or "invalid", str(detail))


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
