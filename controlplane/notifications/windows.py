"""When alerts become messages: windows, mass events, quiet hours, limits per hour, escalation. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.notifications.rules import Mode, Rule

# So many alerts of a rule in a window are one message, whatever the mode.
MASS = 20
# Alerts of mode `each` wait a moment, so that a mass event is seen as one.
SETTLE = timedelta(seconds=5)
# The window of a mass event in other modes than `digest`, at most.
_MASS_WINDOW = timedelta(seconds=60)
# A message in place is changed at most so often, except when all has ended.
UPDATE_PAUSE = timedelta(seconds=30)
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pending:
    """Firing alerts of a rule without a message. recent: alerts of the rule raised within its window.

    sent_at: times of the rule's messages within the last hour, oldest first.
    """

    number: int
    oldest_at: datetime
    recent: int
    sent_at: Sequence[datetime] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of pending alerts: they wait until `due_at`, or go now, as one message or each alone."""

    due_at: datetime
    is_due: bool
    as_one: bool


def plan(rule: Rule, pending: Pending, now: datetime) -> Plan:
    """Return when and how the pending alerts of a rule become messages."""
    is_mass = max(pending.number, pending.recent) >= MASS
    as_one = rule.mode is Mode.DIGEST or is_mass
    due_at = pending.oldest_at + _wait(rule, as_one)
    # After quiet hours, a full hour or an absence of the engine, what has waited is one message.
    as_one = as_one or (pending.number > 1 and now - due_at > _MASS_WINDOW)
    quiet_until = rule.quiet_until(max(due_at, now))
    if quiet_until is not None:
        due_at, as_one = quiet_until, as_one or pending.number > 1
    free_at = _free_at(rule, pending, 1 if as_one else pending.number)
    if free_at is not None:
        # What is above the limit goes as one message when the hour allows the next.
        due_at, as_one = max(due_at, free_at), True
    return Plan(due_at, due_at <= now, as_one)


def _wait(rule: Rule, as_one: bool) -> timedelta:
    if rule.mode is Mode.DIGEST:
        return rule.window
    if as_one:
        return min(rule.window, _MASS_WINDOW)
    return timedelta() if rule.mode is Mode.PAGED else min(SETTLE, rule.window)


def _free_at(rule: Rule, pending: Pending, messages: int) -> datetime | None:
    """Return when the hour's limit allows a message, or None if it allows all of them."""
    if len(pending.sent_at) + messages <= rule.max_per_hour:
        return None
    if len(pending.sent_at) < rule.max_per_hour:
        return pending.oldest_at
    return pending.sent_at[-rule.max_per_hour] + _HOUR


def next_escalation(rule: Rule, level: int, sent_at: datetime) -> datetime | None:
    """Return when a message at this level goes to the next channel, if nobody acknowledges it."""
    if rule.escalate_after is None or level + 1 >= len(rule.channels):
        return None
    return sent_at + rule.escalate_after


def first_level(rule: Rule) -> int:
    """Return the index of the last channel that a new message goes to."""
    return 0 if rule.escalate_after is not None else max(0, len(rule.channels) - 1)


def update_at(changed_at: datetime, last_sent_at: datetime, firing: int) -> datetime:
    """Return when a message is changed in place after its alerts have changed."""
    return changed_at if firing == 0 else max(changed_at, last_sent_at + UPDATE_PAUSE)
