"""Publishing: alerts become messages when they are due, and messages follow what becomes of their alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db.models import Count, Min, QuerySet

from controlplane.messaging.failpoints import reach
from controlplane.notifications import windows
from controlplane.notifications.alert_states import AlertState
from controlplane.notifications.event_types import Step
from controlplane.notifications.isolation import write_alone
from controlplane.notifications.messages import close_message, facts_of_message, send_revision
from controlplane.notifications.models import Alert, NotificationMessage
from controlplane.notifications.rules import Rule
from controlplane.notifications.stored_rules import rule_of
from controlplane.notifications.windows import Pending, Plan

# A message whose step failed is looked at again after it.
_AFTER_FAILURE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_RECENT = timedelta(seconds=60)
# Messages that are revised in one step.
_BATCH = 100


def publish_due(rules: Sequence[Rule], now: datetime) -> int:
    """Send messages about alerts that are due, escalate and revise others; return how many."""
    by_id = {rule.id: rule for rule in rules}
    sent = sum(
        write_alone(rule_id, partial(_publish, by_id[rule_id], pending, now)) or 0
        for rule_id, pending in _pending(by_id, now)
    )
    reach("alerts published")
    return sent + _escalate(now) + _revise(now)


def _pending(rules: Mapping[UUID, Rule], now: datetime) -> list[tuple[UUID, Pending]]:
    rows = _waiting().filter(rule__in=list(rules)).values("rule_id").order_by("rule_id")
    return [
        (row["rule_id"], _facts(rules[row["rule_id"]], row["number"], row["oldest"], now))
        for row in rows.annotate(number=Count("id"), oldest=Min("first_at"))
    ]


def _facts(rule: Rule, number: int, oldest: datetime, now: datetime) -> Pending:
    recent = Alert.objects.filter(rule=rule.id, first_at__gt=now - min(rule.window, _RECENT)).count()
    messages = NotificationMessage.objects.filter(rule=rule.id, sent_at__gt=now - _HOUR).order_by("sent_at")
    return Pending(number, oldest, recent, list(messages.values_list("sent_at", flat=True)))


def _waiting() -> QuerySet[Alert]:
    return Alert.objects.filter(message=None, state=AlertState.FIRING.value)


def _publish(rule: Rule, pending: Pending, now: datetime) -> int:
    planned: Plan = windows.plan(rule, pending, now)
    if not planned.is_due:
        return 0
    waiting = _waiting().filter(rule=rule.id)
    if planned.as_one:
        _send_new(rule, list(waiting.order_by("event_seq", "id").values_list("id", flat=True)), now)
        return 1
    ids = list(waiting.order_by("event_seq", "id").values_list("id", flat=True))
    for alert_id in ids:
        _send_new(rule, [alert_id], now)
    return len(ids)


def _send_new(rule: Rule, alert_ids: Sequence[UUID], now: datetime) -> None:
    """Send the first revision of a message about these alerts."""
    level = windows.first_level(rule)
    message = NotificationMessage.objects.create(
        rule_id=rule.id,
        channels=[str(channel) for channel in rule.channels],
        level=level,
        total=len(alert_ids),
        sent_at=now,
        last_sent_at=now,
        escalate_at=windows.next_escalation(rule, level, now),
    )
    Alert.objects.filter(id__in=alert_ids).update(message=message)
    send_revision(message, facts_of_message(message, rule.name), Step.TRIGGER, rule.severity)


def _escalate(now: datetime) -> int:
    """Send messages that nobody has acknowledged in time to the next channel."""
    due = NotificationMessage.objects.filter(escalate_at__lte=now, is_closed=False)
    messages = _locked(due.order_by("escalate_at"))
    for message in messages:
        if write_alone(message.rule_id, partial(_escalate_message, message, now)) is None:
            _later(message).update(escalate_at=now + _AFTER_FAILURE)
    return len(messages)


def _escalate_message(message: NotificationMessage, now: datetime) -> bool:
    rule = rule_of(message.rule)
    message.level = min(message.level + 1, len(message.channels) - 1)
    message.escalate_at = windows.next_escalation(rule, message.level, now)
    message.revision += 1
    message.last_sent_at = now
    facts = facts_of_message(message, rule.name)
    # All channels so far: those that had it see that it was escalated.
    send_revision(message, facts, Step.TRIGGER, rule.severity)
    message.save()
    return True


def _later(message: NotificationMessage) -> QuerySet[NotificationMessage]:
    """Return the row of a message whose step failed: put off, it does not stand before others for ever."""
    return NotificationMessage.objects.filter(id=message.id)


def _revise(now: datetime) -> int:
    """Send what became of alerts to the receivers of their message."""
    due = NotificationMessage.objects.filter(update_at__lte=now)
    messages = _locked(due.order_by("update_at"))
    revised = 0
    for message in messages:
        number = write_alone(message.rule_id, partial(_revise_message, message, now))
        if number is None:
            _later(message).update(update_at=now + _AFTER_FAILURE)
        revised += number or 0
    return revised


def _locked(due: QuerySet[NotificationMessage]) -> list[NotificationMessage]:
    """Return messages, locked against acknowledgements at this moment."""
    return list(due.select_related("rule").select_for_update(of=("self",))[:_BATCH])


def _revise_message(message: NotificationMessage, now: datetime) -> int:
    rule, facts = rule_of(message.rule), facts_of_message(message, message.rule.name)
    due_at = windows.update_at(now, message.last_sent_at, facts.firing)
    if due_at > now and not message.acknowledged_by:
        NotificationMessage.objects.filter(id=message.id).update(update_at=due_at)
        return 0
    message.revision += 1
    message.last_sent_at, message.update_at = now, None
    if facts.firing == 0:
        close_message(message, now)
        step = Step.RESOLVE
    else:
        step = Step.ACKNOWLEDGE if message.acknowledged_by else Step.UPDATE
    send_revision(message, facts, step, rule.severity)
    message.save()
    return 1
