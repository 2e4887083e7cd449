"""The life of an alert: raised, counted, acknowledged, resolved. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from controlplane.notifications.opposites import types_ending


class AlertState(StrEnum):
    FIRING = "firing"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    # Resolved before a message was sent.
    SUPPRESSED = "suppressed"


OPEN = (AlertState.FIRING, AlertState.ACKNOWLEDGED)
# An alert that no event can end leaves the inbox after this time.
LASTS = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """An alert. is_sent: a message about it exists. event_type: of its first event."""

    state: AlertState
    event_type: str
    first_at: datetime
    last_at: datetime
    count: int = 1
    is_sent: bool = False

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def can_end(self) -> bool:
        """True if an event can end the alert."""
        return bool(types_ending(self.event_type))


def takes_again(alert: AlertFacts | None) -> bool:
    """True if another event with the alert's key is counted in the alert, and makes no new one.

    A fact that no event ends is counted until it is sent, so that the next change of the object is reported.
    """
    return alert is not None and alert.is_open and (alert.can_end or not alert.is_sent)


def count_again(alert: AlertFacts, at: datetime) -> AlertFacts:
    return replace(alert, count=alert.count + 1, last_at=at)


def resolve(alert: AlertFacts, at: datetime) -> AlertFacts:
    """End an open alert. One without a message is suppressed."""
    if not alert.is_open:
        return alert
    state = AlertState.RESOLVED if alert.is_sent else AlertState.SUPPRESSED
    return replace(alert, state=state, last_at=at)


def acknowledge(alert: AlertFacts) -> AlertFacts:
    """Have somebody look after an alert. Only a firing alert changes."""
    return replace(alert, state=AlertState.ACKNOWLEDGED) if alert.state is AlertState.FIRING else alert
