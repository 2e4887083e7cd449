"""Alerts as people handle them: read and acknowledge."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from controlplane.access import audit
from controlplane.database.clock import database_now
from controlplane.errors import Conflict, UnknownAlert
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications.alert_states import AlertState
from controlplane.notifications.event_types import ALERT_ACKNOWLEDGED
from controlplane.notifications.models import Alert, NotificationMessage

_FIRING = AlertState.FIRING.value
# Alerts of one message that are acknowledged with one button.
_BATCH = 5_000


def visible_alerts(caller: Caller) -> QuerySet[Alert]:
    """Return the alerts of rules that the caller may read."""
    return Alert.objects.within(caller).select_related("rule", "rule__team")


def get_alert(caller: Caller, alert_id: UUID, action: Action = Action.NOTIFICATION_READ) -> Alert:
    """Return an alert on which the caller may perform the action. Raises UnknownAlert."""
    alert = visible_alerts(caller).filter(id=alert_id).first()
    if alert is None:
        raise UnknownAlert(f"There is no alert {alert_id}. It may be too old to be kept.")
    caller.require(action, owner=alert.rule.team_id)
    return alert


@transaction.atomic
def acknowledge_alert(alert: Alert, *, actor: Actor) -> Alert:
    """Stop the escalation of an alert. Receivers see it once nobody has to look at another of its message.

    Acknowledging twice changes nothing. Raises Conflict for an alert that has ended.
    """
    rows = Alert.objects.select_for_update(of=("self",)).select_related("rule", "rule__team")
    row = rows.filter(id=alert.id).first()
    if row is None:
        raise UnknownAlert(f"The alert {alert.id} is no longer kept.")
    if row.state == AlertState.ACKNOWLEDGED:
        return row
    if row.state != AlertState.FIRING:
        raise Conflict(f"The alert is {row.state}: there is nothing to acknowledge.")
    _acknowledge([row], actor)
    return row


@transaction.atomic
def acknowledge_message(message: NotificationMessage, *, actor: Actor) -> int:
    """Acknowledge the firing alerts of a message; return how many there were."""
    rows = Alert.objects.select_for_update(of=("self",)).select_related("rule")
    firing = list(rows.filter(message=message, state=_FIRING).order_by("id")[:_BATCH])
    _acknowledge(firing, actor)
    return len(firing)


def _acknowledge(rows: list[Alert], actor: Actor) -> None:
    now = database_now()
    for row in rows:
        row.state, row.acknowledged_by, row.acknowledged_at = AlertState.ACKNOWLEDGED.value, actor.name, now
        _record(row, actor)
    Alert.objects.bulk_update(rows, ["state", "acknowledged_by", "acknowledged_at"], batch_size=500)
    for message_id in {row.message_id for row in rows if row.message_id}:
        if not Alert.objects.filter(message=message_id, state=_FIRING).exists():
            NotificationMessage.objects.filter(id=message_id, is_closed=False).update(
                acknowledged_by=actor.name, escalate_at=None, update_at=now
            )


def _record(alert: Alert, actor: Actor) -> None:
    audit.record(
        ALERT_ACKNOWLEDGED,
        "alert",
        str(alert.id),
        actor=actor,
        before={"state": _FIRING},
        after={"state": AlertState.ACKNOWLEDGED.value},
        data={"rule": alert.rule.name, "alert": alert.title},
        team_id=alert.rule.team_id,
    )
