"""Raising: a batch of events becomes alerts, counts of alerts, and ends of alerts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from controlplane.delivery.audience import Audience
from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.origins import origin
from controlplane.notifications import alert_states
from controlplane.notifications.alert_states import OPEN, AlertFacts, AlertState
from controlplane.notifications.isolation import decide_alone, each_alone
from controlplane.notifications.messages import note_change
from controlplane.notifications.models import Alert
from controlplane.notifications.occurrences import DefaultTexts, Occurrence, key_hash_of, occurrence_of
from controlplane.notifications.rules import Rule

_COUNTED = ("count", "last_at", "event_type", "title", "text", "group")
_ENDED = ("state", "resolved_at")
_Key = tuple[UUID, str]


def raise_alerts(
    rules: Sequence[Rule], events: Sequence[LoggedEvent], audience: Audience, defaults: DefaultTexts
) -> None:
    """Apply the events to the alerts of the rules, in their order."""
    here = origin()
    touches = each_alone(
        (rule.id, partial(_touch, rule, event, here, audience)) for event in events for rule in rules
    )
    if not touches:
        return
    board = _Board((touch.rule.id, touch.key_hash) for touch in touches)
    for touch in touches:
        decide_alone(touch.rule.id, partial(_apply, board, touch, defaults))
    board.save()


class _Touch(NamedTuple):
    """An event that raises or may end an alert of a rule."""

    rule: Rule
    event: LoggedEvent
    key_hash: str
    is_raised: bool


def _touch(rule: Rule, event: LoggedEvent, here: Origin, audience: Audience) -> _Touch | None:
    is_raised = rule.raises(event, here)
    if (is_raised or rule.ended_types(event)) and audience.shows(rule.created_by, event):
        return _Touch(rule, event, key_hash_of(rule, event), is_raised)
    return None


def _apply(board: _Board, touch: _Touch, defaults: DefaultTexts) -> None:
    rule, event = touch.rule, touch.event
    if not board.end((rule.id, touch.key_hash), rule.ended_types(event), event) and touch.is_raised:
        board.put(rule, occurrence_of(rule, event, defaults))


class _Board:
    """The open alerts that a batch of events touches, by rule and key. Changes are written at the end."""

    def __init__(self, keys: Iterable[_Key]) -> None:
        wanted = set(keys)
        rows = Alert.objects.filter(
            rule__in={rule_id for rule_id, _ in wanted},
            key_hash__in={key_hash for _, key_hash in wanted},
            state__in=[state.value for state in OPEN],
        )
        # Locked, so that an acknowledgement at this moment is not lost.
        rows = rows.select_for_update(of=("self",)).order_by("id")
        self._alerts: dict[_Key, Alert] = {(row.rule_id, row.key_hash): row for row in rows}
        self._new: dict[UUID, Alert] = {}
        self._changed: dict[UUID, Alert] = {}

    def end(self, key: _Key, types: Sequence[str], event: LoggedEvent) -> bool:
        """End the alert with this key if its type is one of these; return whether it did."""
        alert = self._alerts.get(key)
        if alert is None or alert.event_type not in types:
            return False
        resolved = alert_states.resolve(facts_of(alert), event.at)
        alert.state, alert.resolved_at = resolved.state.value, event.at
        self._note(alert)
        del self._alerts[key]
        return True

    def put(self, rule: Rule, occurrence: Occurrence) -> None:
        """Count the event in an open alert, or raise a new one."""
        key = (rule.id, occurrence.key_hash)
        alert = self._alerts.get(key)
        if alert is None or not alert_states.takes_again(facts_of(alert)):
            alert = Alert(rule_id=rule.id, key_hash=occurrence.key_hash, severity=rule.severity.value)
            alert.object_type = occurrence.event.object_type
            alert.object_id = occurrence.event.object_id
            alert.first_at, alert.event_seq = occurrence.event.at, occurrence.event.seq
            self._new[alert.id] = alert
            self._alerts[key] = alert
        else:
            alert.count = alert_states.count_again(facts_of(alert), occurrence.event.at).count
            self._note(alert)
        _describe(alert, occurrence)

    def save(self) -> None:
        Alert.objects.bulk_create(self._new.values(), batch_size=500)
        ended = [alert for alert in self._changed.values() if alert.resolved_at is not None]
        _write(_WRITE_COUNTED, list(self._changed.values()), _COUNTED)
        _write(_WRITE_ENDED, ended, _ENDED)
        note_change({alert.message_id for alert in ended if alert.message_id})

    def _note(self, alert: Alert) -> None:
        if alert.id not in self._new:
            self._changed[alert.id] = alert


def facts_of(alert: Alert) -> AlertFacts:
    """Return an alert as decisions need it."""
    return AlertFacts(
        state=AlertState(alert.state),
        event_type=alert.event_type,
        first_at=alert.first_at,
        last_at=alert.last_at,
        count=alert.count,
        is_sent=alert.message_id is not None,
    )


def _describe(alert: Alert, occurrence: Occurrence) -> None:
    event = occurrence.event
    alert.event_type, alert.last_at = event.type, event.at
    alert.title, alert.text, alert.group = occurrence.title, occurrence.text, occurrence.group


def _write(statement: str, alerts: Sequence[Alert], columns: Sequence[str]) -> None:
    """Update many rows with one statement. Django's would have a branch per row and column."""
    if alerts:
        values = [[getattr(alert, name) for alert in alerts] for name in columns]
        with connection.cursor() as cursor:
            cursor.execute(statement, [[alert.id for alert in alerts], *values])


_WRITE_COUNTED = """
UPDATE notifications_alert alert
SET count = given.count, last_at = given.last_at, event_type = given.event_type, title = given.title,
    text = given.text, "group" = given."group"
FROM unnest(%s::uuid[], %s::int[], %s::timestamptz[], %s::text[], %s::text[], %s::text[], %s::text[])
    AS given (id, count, last_at, event_type, title, text, "group")
WHERE alert.id = given.id
"""
_WRITE_ENDED = """
UPDATE notifications_alert alert SET state = given.state, resolved_at = given.resolved_at
FROM unnest(%s::uuid[], %s::text[], %s::timestamptz[]) AS given (id, state, resolved_at)
WHERE alert.id = given.id
"""
