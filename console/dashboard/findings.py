"""Findings of the dashboard's checks, and the one that its headline states. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum


class Severity(IntEnum):
    NOTE = 1
    WARNING = 2
    PROBLEM = 3


@dataclass(frozen=True, slots=True)
class Step:
    """A link to what a reader does next."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a check found. since: when it began, where known. place: where, after the time."""

    severity: Severity
    summary: str
    detail: str = ""
    since: datetime | None = None
    place: str = ""
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """findings: the worst first. passed: checks without findings. unseen: checks that roles do not allow."""

    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def headline(self) -> Finding:
        """Return the worst finding, or a summary of the checks if there are only notes."""
        if self._worst is not Severity.NOTE:
            return self.findings[0]
        if not self.passed and not self.findings:
            return Finding(Severity.NOTE, "Nothing was checked", "Your roles allow none of the checks.")
        new = " new" if self.findings else ""
        where = " in what you can read" if self.unseen else ""
        return Finding(Severity.NOTE, f"No{new} problems found{where}")

    @property
    def other_findings(self) -> tuple[Finding, ...]:
        return self.findings if self._worst is Severity.NOTE else self.findings[1:]

    @property
    def state(self) -> str:
        """Return the state of the headline: `problem`, `warning`, `ok` or `unchecked`."""
        if self._worst is Severity.NOTE:
            return "ok" if self.passed or self.findings else "unchecked"
        return "problem" if self._worst is Severity.PROBLEM else "warning"

    @property
    def _worst(self) -> Severity:
        return self.findings[0].severity if self.findings else Severity.NOTE


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. subject: what it looks at. passed: what it states without a finding.

    allowed: False if the caller's roles do not allow it. is_named: whether a report names it then.
    """

    subject: str
    findings: tuple[Finding, ...] = ()
    passed: str = ""
    allowed: bool = True
    is_named: bool = True


def report(checks: Iterable[Check]) -> Report:
    """Join the results of checks. Among findings of one severity, the order of the checks decides."""
    results = list(checks)
    findings = [finding for check in results for finding in check.findings]
    return Report(
        tuple(sorted(findings, key=lambda finding: -finding.severity)),
        tuple(check.passed for check in results if check.allowed and check.passed and not check.findings),
        tuple(check.subject for check in results if not check.allowed and check.is_named),
    )
