"""Read a document from text or from a parsed value, into its content or all its errors. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from controlplane.errors import MalformedBody
from controlplane.formats import strict_yaml
from controlplane.formats.strict_yaml import Position
from registry.plugins.documents.diagnostics import Code, Diagnostic, Findings, Node, Severity

Content = TypeVar("Content")
MAX_BYTES = 1 << 20
# The YAML parser quotes numbers and repeated names, and either can be a misplaced credential.
_QUOTED = re.compile(
    r"^The number .* is too large|^\S+ is not a number in JSON|(?<=The name )'.*'(?= is repeated)"
)


@dataclass(frozen=True, slots=True)
class Reading(Generic[Content]):
    """The result of reading a document.

    content: None if it has errors. omitted: the number of diagnostics left out, or less than it.
    """

    content: Content | None
    diagnostics: tuple[Diagnostic, ...] = ()
    omitted: int = 0

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(each for each in self.diagnostics if each.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(each for each in self.diagnostics if each.severity is Severity.WARNING)


def read_yaml(text: str, read: Callable[[Node, Findings], Content | None]) -> Reading[Content]:
    """Read YAML or JSON text; diagnostics have lines and columns."""
    findings = Findings()
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        findings.error("", Code.TOO_LARGE, f"The document exceeds {MAX_BYTES} bytes.")
        return _finish(None, findings, {})
    try:
        value = strict_yaml.load(text)
    except MalformedBody as error:
        problem = error.errors[0] if error.errors else None
        message = _QUOTED.sub(_describe, problem.message if problem else error.detail)
        findings.unreadable(message, problem.line if problem else 0, problem.column if problem else 0)
        return _finish(None, findings, {})
    content = read(Node(value), findings)
    return _finish(content, findings, strict_yaml.positions(text)[0] if findings.diagnostics else {})


def read_value(value: Any, read: Callable[[Node, Findings], Content | None]) -> Reading[Content]:
    """Read a value that is parsed already; diagnostics have pointers only."""
    findings = Findings()
    return _finish(read(Node(value), findings), findings, {})


def _finish(content: Content | None, findings: Findings, places: Mapping[str, Position]) -> Reading[Content]:
    valid = findings.error_count == 0
    return Reading(content if valid else None, findings.located(places), findings.omitted)


def _describe(match: re.Match[str]) -> str:
    return "of a field" if match[0].startswith("'") else "A number is too large or not finite"
