"""Checks of the installation: the limits of alerts, compared with the figures of now. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controlplane.observability.alerting.causes import CAUSES
from controlplane.observability.alerting.rules import Alert, Severity
from controlplane.observability.alerting.thresholds import Figure, Threshold


@dataclass(frozen=True, slots=True)
class Check:
    """One limit and what is beyond it. about: which, such as a stream; empty where there is only one."""

    name: str
    severity: Severity
    meaning: str
    runbook: str
    about: str = ""
    value: float | None = None

    @property
    def is_good(self) -> bool:
        return self.value is None


def checks_of(figures: Sequence[Figure], causes: Iterable[Alert] = CAUSES) -> list[Check]:
    """Return a check for each cause: one that is good, or one for each figure beyond its limit."""
    return [check for cause in causes for check in _checks(cause, figures)]


def _checks(cause: Alert, figures: Sequence[Figure]) -> list[Check]:
    threshold = cause.condition
    if not isinstance(threshold, Threshold):
        return []
    crossed = [
        Check(
            cause.name,
            cause.severity,
            cause.description,
            cause.runbook,
            figure.labels.get(threshold.by, ""),
            figure.value,
        )
        for figure in threshold.crossed(figures)
    ]
    return crossed or [Check(cause.name, cause.severity, cause.description, cause.runbook)]
