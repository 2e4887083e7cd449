"""Rehearsal of a rule: what it would have done with events of the past. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.notifications import alert_states
from controlplane.notifications.alert_states import AlertFacts, AlertState
from controlplane.notifications.occurrences import (
    NO_TEXTS,
    DefaultTexts,
    Occurrence,
    key_hash_of,
    occurrence_of,
)
from controlplane.notifications.rules import Rule
from controlplane.notifications.windows import Pending, plan


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """messages: new ones, without changes of them. suppressed: alerts that ended before a message."""

    looked_at: int
    matching: int
    alerts: int
    messages: int
    suppressed: int
    examples: tuple[Occurrence, ...]


@dataclass(slots=True)
class _Stage:
    rule: Rule
    open_alerts: dict[str, AlertFacts] = field(default_factory=dict)
    waiting: dict[str, datetime] = field(default_factory=dict)
    sent_at: list[datetime] = field(default_factory=list)
    alerts: int = 0
    suppressed: int = 0

    def end(self, key: str, types: Sequence[str]) -> bool:
        alert = self.open_alerts.get(key)
        if alert is None or alert.event_type not in types:
            return False
        del self.open_alerts[key]
        self.suppressed += self.waiting.pop(key, None) is not None
        return True

    def put(self, key: str, event: LoggedEvent) -> None:
        if alert_states.takes_again(self.open_alerts.get(key)):
            return
        self.alerts += 1
        self.open_alerts[key] = AlertFacts(AlertState.FIRING, event.type, event.at, event.at)
        self.waiting[key] = event.at

    def publish(self, now: datetime) -> None:
        """Send what was due before this moment."""
        if not self.waiting:
            return
        recent = len(self.waiting)
        pending = Pending(recent, min(self.waiting.values()), recent, self.sent_at[-self.rule.max_per_hour :])
        planned = plan(self.rule, pending, now)
        if not planned.is_due:
            return
        self.sent_at += [now] * (1 if planned.as_one else recent)
        for key in self.waiting:
            alert = self.open_alerts[key]
            self.open_alerts[key] = AlertFacts(
                alert.state, alert.event_type, alert.first_at, alert.last_at, is_sent=True
            )
        self.waiting = {}


def rehearse(
    rule: Rule,
    events: Sequence[LoggedEvent],
    origin: Origin,
    *,
    now: datetime,
    most_examples: int,
    defaults: DefaultTexts = NO_TEXTS,
) -> Rehearsed:
    """Return what the rule would have done with these events, oldest first."""
    stage, matching, examples = _Stage(rule), 0, []
    for event in events:
        stage.publish(event.at)
        is_raised = rule.raises(event, origin)
        ended = rule.ended_types(event)
        if not is_raised and not ended:
            continue
        key = key_hash_of(rule, event)
        if not stage.end(key, ended) and is_raised:
            matching += 1
            stage.put(key, event)
            examples.append(occurrence_of(rule, event, defaults))
            del examples[:-most_examples]
    stage.publish(now)
    sent = len(stage.sent_at) + (1 if stage.waiting else 0)
    return Rehearsed(len(events), matching, stage.alerts, sent, stage.suppressed, tuple(reversed(examples)))
