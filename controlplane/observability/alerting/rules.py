"""Rules of Prometheus as data, and their YAML. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controlplane.formats import strict_yaml
from controlplane.observability.alerting.thresholds import Threshold

_RUNBOOKS = "docs/operations.md"


class Severity(StrEnum):
    """page: somebody must act now. ticket: within days."""

    PAGE = "page"
    TICKET = "ticket"


@dataclass(frozen=True, slots=True)
class Recording:
    """An expression under a name."""

    name: str
    expression: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert. lasting: for how long the condition must hold, such as 2m; empty for at once.

    condition: a limit of a figure, or an expression of PromQL that nothing but Prometheus can evaluate.
    """

    name: str
    condition: Threshold | str
    severity: Severity
    summary: str
    description: str
    lasting: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def expression(self) -> str:
        return self.condition if isinstance(self.condition, str) else self.condition.expression

    @property
    def runbook(self) -> str:
        """The page, and its heading, on what to do."""
        return f"{_RUNBOOKS}#{self.name.lower()}"


def write_rules(groups: Mapping[str, Iterable[Recording | Alert]]) -> str:
    """Return the rules as YAML. groups: name to rules."""
    written = [{"name": name, "rules": [_rule(rule) for rule in rules]} for name, rules in groups.items()]
    return strict_yaml.dump({"groups": written})


def _rule(rule: Recording | Alert) -> dict[str, Any]:
    if isinstance(rule, Recording):
        return {"record": rule.name, "expr": rule.expression, "labels": dict(rule.labels)}
    return {
        "alert": rule.name,
        "expr": rule.expression,
        **({"for": rule.lasting} if rule.lasting else {}),
        "labels": {"severity": rule.severity.value, **rule.labels},
        "annotations": {
            "summary": rule.summary,
            "description": rule.description,
            "runbook_url": rule.runbook,
        },
    }
