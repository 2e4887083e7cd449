"""Changes of rules. Each is one transaction with its audit row and event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from controlplane.access import audit
from controlplane.access.team_models import Team
from controlplane.errors import FieldError, InvalidRequest, LimitReached, NameTaken, UnknownNotificationRule
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications import event_types
from controlplane.notifications.channel_changes import visible_channels
from controlplane.notifications.models import NotificationRule
from controlplane.notifications.rule_checks import check_rule
from controlplane.notifications.rules import RuleSpec
from controlplane.preconditions import Precondition, check

_MOST_RULES, _MOST_OF_A_TEAM = 500, 50
_COLUMNS = (
    *("name", "when", "mode", "digest_seconds", "quiet_hours", "severity", "dedupe_key", "retract"),
    *("escalate_seconds", "max_per_hour", "subject", "body", "is_active"),
)


def visible_rules(caller: Caller) -> QuerySet[NotificationRule]:
    """Return the rules that the caller may read."""
    return NotificationRule.objects.within(caller).select_related("team", "created_by")


def get_rule(caller: Caller, rule_id: UUID, action: Action = Action.NOTIFICATION_READ) -> NotificationRule:
    """Return a rule on which the caller may perform the action. Raises UnknownNotificationRule."""
    rule = visible_rules(caller).filter(id=rule_id).first()
    if rule is None:
        raise UnknownNotificationRule(
            f"There is no rule {rule_id}. `GET /api/v1/notification-rules` lists those that you may read."
        )
    caller.require(action, owner=rule.team_id)
    return rule


@transaction.atomic
def create_rule(spec: RuleSpec, *, team: Team | None, caller: Caller, actor: Actor) -> NotificationRule:
    """Create a rule. Raises InvalidRequest, NameTaken, LimitReached."""
    _check(spec, caller)
    _check_limits(team)
    if actor.principal_id is None:
        raise InvalidRequest("A rule belongs to somebody whose permissions it has. Log in first.")
    rule = NotificationRule(team=team, created_by_id=actor.principal_id)
    _fill(rule, spec)
    _save(rule)
    _record(event_types.RULE_CREATED, rule, actor, before=None, after=rule_state(rule))
    rule.refresh_from_db()
    return rule


@transaction.atomic
def change_rule(
    rule: NotificationRule,
    spec: RuleSpec,
    *,
    precondition: Precondition | None,
    caller: Caller,
    actor: Actor,
) -> NotificationRule:
    """Replace what people write of a rule. Raises InvalidRequest, NameTaken, VersionMismatch."""
    rule = _locked(rule)
    check(precondition, rule.version)
    _check(spec, caller)
    before = rule_state(rule)
    _fill(rule, spec)
    rule.created_by_id = rule.created_by_id or actor.principal_id
    rule.version += 1
    _save(rule)
    _record(event_types.RULE_CHANGED, rule, actor, before=before, after=rule_state(rule))
    return rule


@transaction.atomic
def delete_rule(rule: NotificationRule, *, precondition: Precondition | None, actor: Actor) -> None:
    """Delete a rule with its alerts. Raises VersionMismatch."""
    rule = _locked(rule)
    check(precondition, rule.version)
    _record(event_types.RULE_DELETED, rule, actor, before=rule_state(rule), after=None)
    rule.delete()


def rule_state(rule: NotificationRule) -> dict[str, Any]:
    """Return a rule as audit records hold it."""
    return {**{name: getattr(rule, name) for name in _COLUMNS}, "to": rule.to}


def _check(spec: RuleSpec, caller: Caller) -> None:
    check_rule(spec)
    present = {row.id: row for row in visible_channels(caller).filter(id__in=spec.to)}
    for index, channel_id in enumerate(spec.to):
        channel = present.get(channel_id)
        # What the caller may not use does not exist for the caller.
        if channel is None or not caller.owners_for(Action.NOTIFICATION_SEND).include(channel.team_id):
            message = f"There is no channel {channel_id} that you may send through."
            raise InvalidRequest(message, errors=[FieldError(f"/to/{index}", "unknown_channel", message)])


def _check_limits(team: Team | None) -> None:
    if NotificationRule.objects.count() >= _MOST_RULES:
        raise LimitReached(f"There are {_MOST_RULES} rules already. Delete one that nobody needs.")
    if team is not None and NotificationRule.objects.filter(team=team).count() >= _MOST_OF_A_TEAM:
        raise LimitReached(f"The team {team.slug} has {_MOST_OF_A_TEAM} rules already. Delete one of them.")


def _fill(rule: NotificationRule, spec: RuleSpec) -> None:
    for name in _COLUMNS:
        setattr(rule, name, getattr(spec, name))
    rule.to = _unique(spec.to)


def _unique(channel_ids: Iterable[UUID]) -> list[str]:
    return list(dict.fromkeys(str(channel_id) for channel_id in channel_ids))


def _save(rule: NotificationRule) -> None:
    try:
        with transaction.atomic():
            rule.save()
    except IntegrityError as error:
        message = f"There is a rule named {rule.name!r} already. Choose another name."
        raise NameTaken(message) from error


def _locked(rule: NotificationRule) -> NotificationRule:
    row = NotificationRule.objects.select_for_update(no_key=True, of=("self",)).filter(id=rule.id).first()
    if row is None:
        raise UnknownNotificationRule(f"The rule {rule.id} was deleted meanwhile.")
    return row


def _record(
    event_type: EventType,
    rule: NotificationRule,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    audit.record(
        event_type,
        "notification_rule",
        str(rule.id),
        actor=actor,
        before=before,
        after=after,
        data={"rule": rule.name},
        team_id=rule.team_id,
    )
