"""Notification rules, their alerts and the messages about alerts. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.database.owned import OwnedQuerySet
from controlplane.identity.roles import Action
from controlplane.ids import uuid7
from controlplane.notifications.alert_states import OPEN, AlertState
from controlplane.notifications.rules import Mode, Severity

MODES = [(mode.value, mode.value) for mode in Mode]
SEVERITIES = [(severity.value, severity.value) for severity in Severity]
ALERT_STATES = [(state.value, state.value) for state in AlertState]
_OPEN = [state.value for state in OPEN]


class RuleQuerySet(OwnedQuerySet["NotificationRule"]):
    read_action = Action.NOTIFICATION_READ


class NotificationRule(models.Model):
    """Which events become alerts. when: a filter with `phases`; to: ids of channels, in order of escalation.

    created_by: with whose permissions events are chosen. The other columns: see rules.py.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=63)
    # NULL: the platform.
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    when: Any = models.JSONField(default=dict)
    to: Any = models.JSONField(default=list)
    mode = models.CharField(max_length=8, choices=MODES, default=Mode.EACH.value)
    digest_seconds = models.IntegerField(default=60)
    quiet_hours: Any = models.JSONField(default=dict)
    severity = models.CharField(max_length=8, choices=SEVERITIES, default=Severity.WARNING.value)
    dedupe_key = models.CharField(max_length=255, blank=True, default="")
    retract = models.BooleanField(default=True)
    escalate_seconds = models.IntegerField(null=True)
    max_per_hour = models.IntegerField(default=60)
    subject = models.CharField(max_length=500, blank=True, default="")
    body = models.TextField(blank=True, default="")
    is_active = models.BooleanField(default=True)
    # NULL: a built-in rule that nobody has switched on.
    created_by = models.ForeignKey("access.Principal", on_delete=models.PROTECT, null=True, related_name="+")
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = RuleQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "name"], name="rule_name_is_unique", nulls_distinct=False)
        ]

    def __str__(self) -> str:
        return self.name


class NotificationMessage(models.Model):
    """A message about alerts of a rule, which channels show in its last revision.

    level: index of the last channel that it was sent to. update_at: when its next revision is due.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    rule = models.ForeignKey(NotificationRule, on_delete=models.CASCADE, related_name="messages")
    channels: Any = models.JSONField(default=list)
    revision = models.IntegerField(default=0)
    level = models.IntegerField(default=0)
    total = models.IntegerField(default=0)
    is_closed = models.BooleanField(default=False)
    acknowledged_by = models.CharField(max_length=63, blank=True, default="")
    sent_at = models.DateTimeField()
    last_sent_at = models.DateTimeField()
    update_at = models.DateTimeField(null=True)
    escalate_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["rule", "sent_at"], name="message_by_rule"),
            models.Index(
                fields=["update_at"], name="message_update", condition=models.Q(update_at__isnull=False)
            ),
            models.Index(
                fields=["escalate_at"], name="message_escalate", condition=models.Q(escalate_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule_id}: {self.total} alerts, revision {self.revision}"


class AlertQuerySet(OwnedQuerySet["Alert"]):
    team_path = "rule__team_id"
    read_action = Action.NOTIFICATION_READ


class Alert(models.Model):
    """What a rule has found. count: of its events. key_hash: of the rule's key. group: environment or scope.

    message: NULL until one is sent.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    rule = models.ForeignKey(
        NotificationRule, on_delete=models.CASCADE, related_name="alerts", db_index=False
    )
    message = models.ForeignKey(
        NotificationMessage, on_delete=models.SET_NULL, null=True, related_name="alerts"
    )
    key_hash = models.CharField(max_length=64)
    state = models.CharField(max_length=12, choices=ALERT_STATES, default=AlertState.FIRING.value)
    severity = models.CharField(max_length=8, choices=SEVERITIES)
    event_type = models.CharField(max_length=63)
    event_seq = models.BigIntegerField()
    object_type = models.CharField(max_length=63)
    object_id = models.CharField(max_length=1200)
    group = models.CharField(max_length=255, blank=True, default="")
    title = models.CharField(max_length=255)
    text = models.TextField(blank=True, default="")
    count = models.IntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    acknowledged_by = models.CharField(max_length=63, blank=True, default="")
    acknowledged_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["rule", "key_hash"], name="alert_open", condition=models.Q(state__in=_OPEN)),
            models.Index(
                fields=["rule", "first_at"],
                name="alert_pending",
                condition=models.Q(message__isnull=True, state="firing"),
            ),
            models.Index(fields=["state", "-id"], name="alert_by_state"),
            models.Index(fields=["rule", "-first_at"], name="alert_by_rule"),
        ]

    def __str__(self) -> str:
        return f"{self.title}: {self.state}"


class AlertmanagerAlert(models.Model):
    """The last report of an alert to a team. is_firing: NULL before its first report is read."""

    id = models.BigAutoField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, related_name="+", db_index=False)
    fingerprint = models.CharField(max_length=64)
    is_firing = models.BooleanField(null=True)
    starts_at = models.CharField(max_length=64, db_default="")
    heard_at = models.DateTimeField(db_default=Now(), db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "fingerprint"], name="alertmanager_alert_is_unique", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return self.fingerprint


class NotificationCursor(models.Model):
    """A single row: the number of the last event that the engine looked at."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    seq = models.BigIntegerField()
    cleaned_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(name="cursor_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return str(self.seq)
