"""Event types of notifications. A message is an event, so that it is sent as every delivery is."""

from __future__ import annotations

from enum import StrEnum

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, register
from controlplane.identity.roles import Action

for _kind in ("notification", "notification_rule", "alert"):
    declare_audience(_kind, Action.NOTIFICATION_READ)
declare_audience("alertmanager", Action.NOTIFICATION_READ)


class Step(StrEnum):
    """What a message does at its receiver."""

    TRIGGER = "trigger"
    UPDATE = "update"
    ACKNOWLEDGE = "acknowledge"
    RESOLVE = "resolve"


MESSAGE = register(
    "notification.message",
    "A message for people, or a change of an earlier one, is on its way to a channel.",
    message=TEXT,
    channel=TEXT,
    recipient=TEXT,
    rule=TEXT,
    step={"enum": [step.value for step in Step]},
    revision=INTEGER,
    severity=TEXT,
    subject=TEXT,
    text=TEXT,
    total=INTEGER,
    firing=INTEGER,
    url=TEXT,
)
SENT = register(
    "notification.sent", "Somebody sent a message through a channel.", channel=TEXT, subject=TEXT, key=TEXT
)
RULE_CREATED = register("notification_rule.created", "A notification rule was created.", rule=TEXT)
RULE_CHANGED = register("notification_rule.changed", "A notification rule was changed.", rule=TEXT)
RULE_DELETED = register(
    "notification_rule.deleted", "A notification rule was deleted, with its alerts.", rule=TEXT
)
ALERT_ACKNOWLEDGED = register("alert.acknowledged", "Somebody looks after an alert.", rule=TEXT, alert=TEXT)

_ALERTMANAGER = {
    "labels": {"type": "object", "additionalProperties": TEXT},
    "annotations": {"type": "object", "additionalProperties": TEXT},
    "name": TEXT,
    "starts_at": TEXT,
    "ends_at": TEXT,
    "url": TEXT,
}
ALERTMANAGER_FIRING = register("alertmanager.firing", "Alertmanager reports an alert.", **_ALERTMANAGER)
ALERTMANAGER_RESOLVED = register(
    "alertmanager.resolved", "Alertmanager reports the end of an alert.", **_ALERTMANAGER
)
