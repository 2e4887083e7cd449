"""Read values of a job's document strictly, and collect all errors and warnings. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.errors import FieldError

_QUOTE = "Put it in quotation marks."
# Far above real jobs. Nobody reads ten thousand errors.
_MOST_ERRORS = 100
_MOST_ITEMS = 1_000


@dataclass(slots=True)
class Findings:
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[FieldError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the document with its JSON Pointer."""

    value: Any
    pointer: str
    findings: Findings

    def error(self, code: str, message: str, hint: str = "") -> None:
        if len(self.findings.errors) < _MOST_ERRORS:
            self.findings.errors.append(FieldError(self.pointer, code, message, hint))

    def warn(self, code: str, message: str, hint: str = "") -> None:
        self.findings.warnings.append(FieldError(self.pointer, code, message, hint))

    def below(self, step: str | int, value: Any) -> Value:
        escaped = str(step).replace("~", "~0").replace("/", "~1")
        return Value(value, f"{self.pointer}/{escaped}", self.findings)

    def members(self, *allowed: str, required: Collection[str] = ()) -> Members:
        """Return the allowed members that are not null. Report others, and required ones that are absent."""
        entries = dict(self.entries())
        for name, value in entries.items():
            if name not in allowed:
                close = difflib.get_close_matches(name[:80], allowed, n=1)
                hint = f"Did you mean {close[0]}?" if close else f"Allowed: {', '.join(allowed)}."
                value.error("unknown_field", f"Unknown field {name[:80]!r}.", hint)
        values = {
            name: value for name, value in entries.items() if name in allowed and value.value is not None
        }
        if isinstance(self.value, Mapping):
            for name in required:
                if name not in values:
                    self.error("required", f"The field {name} is required.")
        return Members(values)

    def entries(self) -> Iterator[tuple[str, Value]]:
        """Yield the entries of an object with any names."""
        if not isinstance(self.value, Mapping):
            self.error("invalid_type", f"Expected an object, not {_type_name(self.value)}.")
        elif self._is_short():
            yield from ((name, self.below(name, value)) for name, value in self.value.items())

    def items(self) -> Iterator[Value]:
        if not isinstance(self.value, list):
            self.error("invalid_type", f"Expected a list, not {_type_name(self.value)}.")
        elif self._is_short():
            yield from (self.below(index, value) for index, value in enumerate(self.value))

    def text(self) -> str:
        if isinstance(self.value, str):
            return self.value
        is_scalar = isinstance(self.value, bool | int | float)
        message = f"Expected text, not {_type_name(self.value)}."
        self.error("invalid_type", message, _QUOTE if is_scalar else "")
        return ""

    def non_empty_text(self) -> str:
        text = self.text()
        if isinstance(self.value, str) and not text.strip():
            self.error("required", "The value is empty.")
        return text

    def texts(self) -> dict[str, str]:
        return {name: value.text() for name, value in self.entries()}

    def boolean(self) -> bool:
        if isinstance(self.value, bool):
            return self.value
        self.error("invalid_type", f"Expected true or false, not {_type_name(self.value)}.")
        return False

    def count(self) -> int:
        """Return an integer that is not negative."""
        if isinstance(self.value, int) and not isinstance(self.value, bool) and 0 <= self.value < 1 << 31:
            return self.value
        self.error("invalid_value", "Expected an integer from 0 to 2147483647.")
        return 0

    def _is_short(self) -> bool:
        if len(self.value) <= _MOST_ITEMS:
            return True
        self.error("too_large", f"It has {len(self.value)} entries; the maximum is {_MOST_ITEMS}.")
        return False


@dataclass(frozen=True, slots=True)
class Members:
    """Members of an object by name. An absent one is read as empty, false or zero."""

    values: Mapping[str, Value] = field(default_factory=dict)

    def get(self, name: str) -> Value | None:
        return self.values.get(name)

    def members(self, name: str, *allowed: str, required: Collection[str] = ()) -> Members:
        value = self.get(name)
        return Members() if value is None else value.members(*allowed, required=required)

    def items(self, name: str) -> Iterator[Value]:
        if (value := self.get(name)) is not None:
            yield from value.items()

    def text(self, name: str) -> str:
        value = self.get(name)
        return "" if value is None else value.text()

    def non_empty_text(self, name: str) -> str:
        value = self.get(name)
        return "" if value is None else value.non_empty_text()

    def texts(self, name: str) -> dict[str, str]:
        value = self.get(name)
        return {} if value is None else value.texts()

    def boolean(self, name: str) -> bool:
        value = self.get(name)
        return value is not None and value.boolean()

    def count(self, name: str) -> int:
        value = self.get(name)
        return 0 if value is None else value.count()


def _type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), "text")
