"""Diagnostics of a published document, with their locations. Pure.

A `Node` is a value with its location; `Findings` collects all diagnostics instead of stopping at the first.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controlplane.formats.strict_yaml import Position, nearest

_GUIDE = "docs/guides/agent-configurations.md"


class Severity(StrEnum):
    """An error rejects the document. A warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Code(StrEnum):
    """Stable codes, part of the API. Codes of errors are also reasons of the condition `Valid`."""

    INVALID_YAML = "InvalidYAML"
    TOO_LARGE = "TooLarge"
    SCHEMA_VIOLATION = "SchemaViolation"
    UNKNOWN_FIELD = "UnknownField"
    FORBIDDEN_FIELD = "ForbiddenField"
    INVALID_ENVELOPE = "InvalidEnvelope"
    NESTED_DATA = "NestedData"
    INVALID_AGENT_ID = "InvalidAgentId"
    INVALID_ENDPOINT = "InvalidEndpoint"
    RELATIVE_HOST = "RelativeHost"
    ADDRESS_DENIED = "AddressDenied"
    TLS_REQUIRED = "TLSRequired"
    INVALID_SERVICE_CONFIG = "InvalidServiceConfig"
    INVALID_DURATION = "InvalidDuration"
    INVALID_TASK_TYPE = "InvalidTaskType"
    RESERVED_TASK_TYPE = "ReservedTaskType"
    DUPLICATE = "Duplicate"
    CONFLICTING_FILES = "ConflictingFiles"
    AMBIGUOUS_ROUTING = "AmbiguousRouting"
    NOTHING_PUBLISHED = "NothingPublished"
    NEAR_MISS = "NearMiss"
    UPPER_CASE_DEFAULT = "UpperCaseDefault"
    IDLE_AGENT = "IdleAgent"


@dataclass(frozen=True, slots=True)
class Place:
    """The location of a value. file: a key of a ConfigMap's data, or empty; pointer: within that file."""

    file: str = ""
    pointer: str = ""

    def below(self, step: str | int) -> Place:
        return Place(self.file, f"{self.pointer}/{str(step).replace('~', '~0').replace('/', '~1')}")


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a document with its location."""

    value: Any
    place: Place

    def member(self, name: str) -> Node:
        return Node(self.value[name], self.place.below(name))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or warning about a document.

    path: JSON Pointer. line, column: from 1, or 0 if unknown. All three are relative to `file`, a key of
    the ConfigMap's data, or to the request's text if `file` is empty.
    """

    code: Code
    severity: Severity
    path: str
    message: str
    hint: str = ""
    line: int = 0
    column: int = 0
    file: str = ""

    @property
    def doc_url(self) -> str:
        return f"{_GUIDE}#{self.code.lower()}"


@dataclass(slots=True)
class Findings:
    """Collect diagnostics while a document is read: up to a maximum per severity; the rest are counted.

    Nobody reads ten thousand errors, and computing them would delay other requests.
    """

    max_per_severity: int = 100
    diagnostics: list[Diagnostic] = field(default_factory=list)
    counts: Counter[Severity] = field(default_factory=Counter)

    @property
    def is_full(self) -> bool:
        return self.counts[Severity.ERROR] >= self.max_per_severity

    @property
    def omitted(self) -> int:
        return self.counts.total() - len(self.diagnostics)

    def error(self, place: Place, code: Code, message: str, hint: str = "") -> None:
        self._add(Severity.ERROR, place, code, message, hint)

    def warn(self, place: Place, code: Code, message: str, hint: str = "") -> None:
        self._add(Severity.WARNING, place, code, message, hint)

    def _add(self, severity: Severity, place: Place, code: Code, message: str, hint: str) -> None:
        self.counts[severity] += 1
        if self.counts[severity] <= self.max_per_severity:
            self.diagnostics.append(Diagnostic(code, severity, place.pointer, message, hint, file=place.file))

    def unreadable(self, place: Place, message: str, line: int, column: int) -> None:
        """Report a file that is not valid YAML, at the position from its parser."""
        self.counts[Severity.ERROR] += 1
        self.diagnostics.append(
            Diagnostic(
                Code.INVALID_YAML, Severity.ERROR, place.pointer, message, "", line, column, place.file
            )
        )

    def located(self, places: Mapping[str, Mapping[str, Position]]) -> tuple[Diagnostic, ...]:
        """Return all diagnostics, errors first, with line and column where the file's positions are known."""
        diagnostics = [
            _add_position(diagnostic, places.get(diagnostic.file, {})) for diagnostic in self.diagnostics
        ]
        return tuple(sorted(diagnostics, key=_sort_key))


def quote_value(value: Any) -> str:
    """Quote a value for a message, in YAML's notation and never a whole document."""
    text = json.dumps(value) if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def resembles_any(name: str, allowed: Iterable[str]) -> bool:
    """True if the name is probably a misspelling of an allowed one."""
    return bool(difflib.get_close_matches(name[:80], list(allowed), n=1))


def suggest_name(name: str, allowed: Iterable[str]) -> str:
    """Return a hint with the closest allowed name, or with all of them."""
    names = sorted(allowed)
    close = difflib.get_close_matches(name[:80], names, n=1)
    return f"Did you mean {close[0]}?" if close else f"Allowed: {', '.join(names)}."


def _add_position(diagnostic: Diagnostic, places: Mapping[str, Position]) -> Diagnostic:
    if diagnostic.line or not places:
        return diagnostic
    line, column = nearest(diagnostic.path, places)
    return replace(diagnostic, line=line, column=column)


def _sort_key(diagnostic: Diagnostic) -> tuple[bool, str, int, int, str, str]:
    return (
        diagnostic.severity is Severity.WARNING,
        diagnostic.file,
        diagnostic.line,
        diagnostic.column,
        diagnostic.path,
        diagnostic.code,
    )
