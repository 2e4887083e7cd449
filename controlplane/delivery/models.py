"""Sinks, the deliveries of events to them, lanes of deliveries in order, and attempts. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.access.secrets.sealed_columns import register_sealed_column
from controlplane.access.team_models import Team
from controlplane.database.owned import OwnedQuerySet
from controlplane.delivery.flavours import NATIVE, Flavour
from controlplane.identity.roles import Action
from controlplane.ids import uuid7

_FLAVOURS = frozenset(Flavour)


class SinkState(models.TextChoices):
    ACTIVE = "active"
    # By a person, or because its queue or creator demands it; the log of events is its buffer.
    PAUSED = "paused"
    # By its receiver, which is gone or fails for days.
    DISABLED = "disabled"


class Ordering(models.TextChoices):
    OBJECT = "object"
    SCOPE = "scope"
    NONE = "none"


class DeliveryState(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    # After the last attempt.
    DEAD = "dead"
    # Never sent: its creator may not read the event.
    SKIPPED = "skipped"
    DISCARDED = "discarded"


class SinkQuerySet(OwnedQuerySet["Sink"]):
    read_action = Action.SINK_READ


class Sink(models.Model):
    """A receiver of events. config has no secrets; secrets: sealed JSON.

    created_by: with whose permissions events are chosen. cursor_seq: the last event that was looked at.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=16)
    # NULL: the platform.
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    config: Any = models.JSONField(default=dict)
    secrets = models.TextField(blank=True, default="")
    filter: Any = models.JSONField(default=dict)
    # In whose format events are sent (flavours.py).
    flavour = models.CharField(max_length=16, default=NATIVE, db_default=NATIVE)
    ordering = models.CharField(max_length=8, choices=Ordering.choices, default=Ordering.OBJECT)
    state = models.CharField(max_length=8, choices=SinkState.choices, default=SinkState.ACTIVE)
    # Why it is paused or disabled: "person", "overflow", "creator_disabled", "gone", "failing".
    reason = models.CharField(max_length=32, blank=True, default="")
    max_in_flight = models.IntegerField(default=8)
    per_second = models.IntegerField(default=50)
    created_by = models.ForeignKey("access.Principal", on_delete=models.PROTECT, related_name="+")
    cursor_seq = models.BigIntegerField()
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = SinkQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name"], name="sink_name_is_unique", nulls_distinct=False
            ),
            models.CheckConstraint(
                name="sink_state_is_known", condition=models.Q(state__in=SinkState.values)
            ),
        ]
        indexes = [models.Index(fields=["state", "cursor_seq"], name="sink_by_cursor")]

    def __str__(self) -> str:
        return self.name

    @property
    def has_known_format(self) -> bool:
        """False for a flavour of a later release, which runs beside this one: that one sends its events."""
        return self.flavour in _FLAVOURS

    @property
    def format(self) -> Flavour:
        return Flavour(self.flavour) if self.has_known_format else Flavour.NATIVE

    @property
    def secrets_context(self) -> str:
        return f"sink/{self.id}/secrets"


register_sealed_column("delivery.Sink", "secrets", lambda row: row.secrets_context)


class SinkProgress(models.Model):
    """What changes with every delivery of a sink, apart from what people write.

    tokens: of the bucket that bounds deliveries per second, as of refilled_at. failures: in a row.
    """

    sink = models.OneToOneField(Sink, on_delete=models.CASCADE, primary_key=True, related_name="progress")
    tokens = models.FloatField(db_default=0)
    refilled_at = models.DateTimeField(db_default=Now())
    claimed_at = models.DateTimeField(db_default=Now())
    failures = models.IntegerField(db_default=0)
    # Of the last success; or when it was created or resumed.
    last_success_at = models.DateTimeField(db_default=Now())
    last_failure_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=500, db_default="")

    def __str__(self) -> str:
        return f"{self.sink_id}: {self.failures} failures"


class Lane(models.Model):
    """The deliveries of a sink with one key, which are sent one after the other. Gone when none waits.

    replay: of the replay to which they belong; 0 for live events. lease_epoch: rises with each lease, so that
    a late worker's result is ignored.
    """

    id = models.BigAutoField(primary_key=True)
    sink = models.ForeignKey(Sink, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=1300)
    replay = models.BigIntegerField(db_default=0)
    next_at = models.DateTimeField(db_default=Now())
    leased_until = models.DateTimeField(null=True)
    lease_epoch = models.IntegerField(db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["sink", "key", "replay"], name="lane_is_unique")]
        indexes = [
            models.Index(fields=["sink", "next_at"], name="lane_due"),
            models.Index(
                fields=["sink", "leased_until"],
                name="lane_leased",
                condition=models.Q(leased_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.sink_id} {self.key}"


class Replay(models.Model):
    """Events that a sink gets once more. Its id is the `replay` of lanes and deliveries."""

    id = models.BigAutoField(primary_key=True)
    sink = models.ForeignKey(Sink, on_delete=models.CASCADE, related_name="+")
    # The last event that was looked at, and the last one to look at.
    cursor_seq = models.BigIntegerField()
    until_seq = models.BigIntegerField()
    types: Any = models.JSONField(default=list)
    # How many more events may be queued.
    remaining = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.sink_id} from {self.cursor_seq} to {self.until_seq}"


class Delivery(models.Model):
    """One event for one sink. attempt: how many were made."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    sink = models.ForeignKey(Sink, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    seq = models.BigIntegerField()
    event_id = models.UUIDField()
    type = models.CharField(max_length=63)
    key = models.CharField(max_length=1300)
    replay = models.BigIntegerField(db_default=0)
    state = models.CharField(
        max_length=9, choices=DeliveryState.choices, db_default=DeliveryState.WAITING.value
    )
    # Why it was skipped.
    reason = models.CharField(max_length=32, db_default="")
    attempt = models.IntegerField(db_default=0)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    first_tried_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    last_status = models.IntegerField(db_default=0)
    last_error = models.CharField(max_length=500, db_default="")
    # What the receiver of a channel calls the message.
    reference = models.CharField(max_length=255, db_default="")
    response_ms = models.IntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sink", "event_id", "replay"], name="delivery_is_unique")
        ]
        indexes = [
            models.Index(
                fields=["sink", "key", "replay", "seq"],
                name="delivery_waiting",
                condition=models.Q(state="waiting"),
            ),
            models.Index(fields=["sink", "-id"], name="delivery_by_sink"),
            models.Index(fields=["settled_at"], name="delivery_settled"),
            models.Index(
                fields=["sink", "key"], name="delivery_reference", condition=~models.Q(reference="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.seq} to {self.sink_id}: {self.state}"


class DeliveryAttempt(models.Model):
    """One attempt. request_headers: without signatures. response: its beginning."""

    id = models.BigAutoField(primary_key=True)
    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    number = models.IntegerField()
    at = models.DateTimeField(db_default=Now(), db_index=True)
    result = models.CharField(max_length=16)
    status = models.IntegerField(db_default=0)
    milliseconds = models.IntegerField(db_default=0)
    request_headers: Any = models.JSONField(default=dict)
    response = models.TextField(blank=True, db_default="")
    error = models.CharField(max_length=500, db_default="")

    def __str__(self) -> str:
        return f"{self.delivery_id} #{self.number}: {self.result}"
