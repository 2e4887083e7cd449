"""Alerts as Alertmanager reports them: bounded, and which of them are news. Pure.

Alertmanager repeats an alert that goes on every few hours, and any report whose answer it did not get. A
report is news if the alert begins, begins again, or ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.notifications.templates import cut, one_line

_MOST_VALUE = 1_000
_MOST_NAME = 100
_MOST_URL = 2_000
# Labels, and annotations, of one alert. Without the rest it can still be read.
_MOST_ENTRIES = 50
_NAME = "alertname"
# What Postgres cannot store or terminals would obey.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ReportedAlert:
    """An alert of Alertmanager (webhook, version 4). fingerprint: of its labels."""

    fingerprint: str
    is_firing: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)
    starts_at: str = ""
    ends_at: str = ""
    url: str = ""

    @property
    def phase(self) -> AlertPhase:
        return AlertPhase(self.is_firing, self.starts_at)


@dataclass(frozen=True, slots=True)
class AlertPhase:
    """What was last heard of an alert: that it fires, or has ended, since it began at a time."""

    is_firing: bool
    starts_at: str


def news(alerts: Iterable[ReportedAlert], heard: Mapping[str, AlertPhase]) -> list[ReportedAlert]:
    """Return the reports that change an alert, in their order. heard: by fingerprint."""
    known = dict(heard)
    fresh = []
    for alert in alerts:
        if known.get(alert.fingerprint) != alert.phase:
            known[alert.fingerprint] = alert.phase
            fresh.append(alert)
    return fresh


def data_of(alert: ReportedAlert) -> dict[str, Any]:
    """Return the data of the alert's event. What is too long is cut: the texts are not ours."""
    return {
        "labels": _bounded(alert.labels),
        "annotations": _bounded(alert.annotations),
        "name": one_line(cut(alert.labels.get(_NAME, "alert"), _MOST_VALUE)),
        "starts_at": alert.starts_at,
        "ends_at": alert.ends_at,
        "url": cut(alert.url, _MOST_URL),
    }


def _bounded(values: Mapping[str, str]) -> dict[str, str]:
    # The name first, so that it is never among those that are left out.
    names = sorted(values, key=lambda name: (name != _NAME, name))[:_MOST_ENTRIES]
    kept = ((cut(name, _MOST_NAME), cut(values[name], _MOST_VALUE)) for name in names)
    return {_CONTROL.sub(" ", name): _CONTROL.sub(" ", value) for name, value in kept}
