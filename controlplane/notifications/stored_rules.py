"""Stored rules as decisions need them."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from controlplane.notifications.isolation import each_alone
from controlplane.notifications.models import NotificationRule
from controlplane.notifications.rules import Rule, RuleSpec, rule_from

_NOBODY = UUID(int=0)


def spec_of(row: NotificationRule) -> RuleSpec:
    """Return what people wrote of a rule."""
    return RuleSpec(
        name=row.name,
        when=row.when,
        to=tuple(UUID(channel) for channel in row.to),
        mode=row.mode,
        digest_seconds=row.digest_seconds,
        quiet_hours=row.quiet_hours,
        severity=row.severity,
        dedupe_key=row.dedupe_key,
        retract=row.retract,
        escalate_seconds=row.escalate_seconds,
        max_per_hour=row.max_per_hour,
        subject=row.subject,
        body=row.body,
        is_active=row.is_active,
    )


def rule_of(row: NotificationRule) -> Rule:
    return rule_from(spec_of(row), rule_id=row.id, created_by=row.created_by_id or _NOBODY)


def active_rules() -> list[Rule]:
    """Return the rules that are switched on and have a channel, without those that cannot be read."""
    rows = NotificationRule.objects.filter(is_active=True, created_by__isnull=False).exclude(to=[])
    return each_alone((row.id, partial(rule_of, row)) for row in rows.order_by("id"))
