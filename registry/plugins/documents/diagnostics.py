"""Diagnostics of a plugin document, with their locations. Pure.

Messages quote names, never values: a value can be a credential in the wrong place.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controlplane.formats.strict_yaml import Position, nearest

# Comparing thousands of names with thousands of others takes minutes.
_MAX_SUGGESTIONS = 50
_QUOTABLE = re.compile(r"[A-Za-z0-9_.-]{1,63}")


class Severity(StrEnum):
    """An error rejects the document. A warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Code(StrEnum):
    """Stable codes, part of the API."""

    INVALID_YAML = "invalid_yaml"
    TOO_LARGE = "too_large"
    PLACEHOLDER = "placeholder"
    INVALID_TYPE = "invalid_type"
    INVALID_VALUE = "invalid_value"
    UNKNOWN_FIELD = "unknown_field"
    REQUIRED = "required"
    DUPLICATE = "duplicate"
    UNKNOWN_PROVIDER = "unknown_provider"
    INVALID_PATH = "invalid_path"
    INVALID_AUTH = "invalid_auth"
    INSECURE_AUTH = "insecure_auth"
    INLINE_SECRET = "inline_secret"  # noqa: S105  (a code)
    CHECKSUM_MISSING = "checksum_missing"
    INVALID_VERSION = "invalid_version"
    UNQUOTED_VERSION = "unquoted_version"
    INVALID_IMAGE = "invalid_image"
    MUTABLE_IMAGE = "mutable_image"
    INVALID_PATTERN = "invalid_pattern"
    UNKNOWN_VARIABLE = "unknown_variable"


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document with its JSON Pointer."""

    value: Any
    pointer: str = ""

    def member(self, name: str) -> Node:
        return Node(self.value[name], f"{self.pointer}/{escape_name(name)}")

    def items(self) -> Iterator[Node]:
        """Yield the entries of a list."""
        yield from (Node(value, f"{self.pointer}/{index}") for index, value in enumerate(self.value))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning. path: JSON Pointer; line, column: from 1, or 0 if unknown."""

    code: Code
    severity: Severity
    path: str
    message: str
    hint: str = ""
    line: int = 0
    column: int = 0


@dataclass(slots=True)
class Findings:
    """Collect diagnostics while a document is read. Above the maximum they are only counted."""

    maximum: int = 200
    diagnostics: list[Diagnostic] = field(default_factory=list)
    error_count: int = 0
    omitted: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.diagnostics) >= self.maximum

    def error(self, pointer: str, code: Code, message: str, hint: str = "") -> None:
        self.error_count += 1
        self._add(Diagnostic(code, Severity.ERROR, pointer, message, hint))

    def warn(self, pointer: str, code: Code, message: str, hint: str = "") -> None:
        self._add(Diagnostic(code, Severity.WARNING, pointer, message, hint))

    def unreadable(self, message: str, line: int, column: int) -> None:
        """Report text that is not valid YAML, at the position from its parser."""
        self.error_count += 1
        self._add(Diagnostic(Code.INVALID_YAML, Severity.ERROR, "", message, "", line, column))

    def _add(self, diagnostic: Diagnostic) -> None:
        if self.is_full:
            self.omitted += 1
        else:
            self.diagnostics.append(diagnostic)

    def located(self, places: Mapping[str, Position]) -> tuple[Diagnostic, ...]:
        """Return all diagnostics, errors first, with line and column where positions are known."""
        return tuple(sorted((_add_position(each, places) for each in self.diagnostics), key=_sort_key))


def escape_name(name: str) -> str:
    """Return the name as one step of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def quote_name(name: str) -> str:
    """Quote a name for a message, or describe it if it is anything but a plain name."""
    return repr(name) if _QUOTABLE.fullmatch(name) else "that is not a plain name"


def suggest_name(name: str, allowed: Iterable[str]) -> str:
    """Return a hint with the closest allowed name, or with all of them; none if there are too many."""
    names = sorted(allowed)
    if len(names) > _MAX_SUGGESTIONS:
        return ""
    close = difflib.get_close_matches(name[:80], names, n=1)
    return f"Did you mean {close[0]}?" if close else f"Allowed: {', '.join(names)}."


def _add_position(diagnostic: Diagnostic, places: Mapping[str, Position]) -> Diagnostic:
    if diagnostic.line or not places:
        return diagnostic
    line, column = nearest(diagnostic.path, places)
    return replace(diagnostic, line=line, column=column)


def _sort_key(diagnostic: Diagnostic) -> tuple[bool, int, int, str, str]:
    is_warning = diagnostic.severity is Severity.WARNING
    return (is_warning, diagnostic.line, diagnostic.column, diagnostic.path, diagnostic.code)
