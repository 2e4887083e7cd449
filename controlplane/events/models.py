"""The event log: append-only facts in the past tense. For how followers miss none, see docs/adr/0008."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now

from controlplane.database.scoped import ScopedQuerySet, segment_field
from controlplane.ids import uuid7


class EventQuerySet(ScopedQuerySet["Event"]):
    def numbered_after(self, seq: int) -> EventQuerySet:
        return self.filter(seq__gt=seq).order_by("seq")

    def numbered_before(self, seq: int | None) -> EventQuerySet:
        """Return events with a lower number, newest first; None: all numbered events."""
        rows = self.filter(seq__lt=seq) if seq else self.exclude(seq=None)
        return rows.order_by("-seq")


class Event(models.Model):
    """One event. `seq` is null until the committed event is numbered."""

    position = models.BigAutoField(primary_key=True)
    id = models.UUIDField(default=uuid7, unique=True, editable=False)
    seq = models.BigIntegerField(null=True, unique=True)
    type = models.CharField(max_length=63)
    at = models.DateTimeField(db_default=Now(), editable=False)
    object_type = models.CharField(max_length=63)
    object_id = models.CharField(max_length=1200)
    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    # The team that owns the object; NULL: the platform. No foreign key: the event outlives the team.
    team_id = models.UUIDField(null=True)
    actor = models.CharField(max_length=63)
    request_id = models.CharField(max_length=64, blank=True, default="")
    data: Any = models.JSONField()
    # Of the change (W3C Trace Context); NULL without traces.
    traceparent = models.CharField(max_length=55, null=True)

    objects = EventQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["position"], name="event_not_numbered", condition=models.Q(seq__isnull=True)
            ),
            models.Index(fields=["object_type", "object_id", "seq"], name="event_by_object"),
            models.Index(
                fields=["team_id", "seq"], name="event_by_team", condition=models.Q(team_id__isnull=False)
            ),
            # Rows are inserted in the order of their times, so that this index is small and cheap to update.
            BrinIndex(fields=["at"], name="event_by_time", autosummarize=True),
        ]

    def __str__(self) -> str:
        return f"{self.seq}: {self.type} {self.object_id}"


class Numbering(models.Model):
    """A single row with the last number. Its lock serializes the numbering."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    last_seq = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="numbering_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return str(self.last_seq)


class Compaction(models.Model):
    """A single row with the highest number whose event was dropped: followers before it missed events."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    dropped_seq = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="compaction_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return str(self.dropped_seq)


class LostEvents(models.Model):
    """Numbers of events that a restore has lost: above `after`, up to and with `until`."""

    id = models.BigAutoField(primary_key=True)
    after = models.BigIntegerField()
    until = models.BigIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="lost_events_are_some", condition=models.Q(after__lt=models.F("until"))
            )
        ]

    def __str__(self) -> str:
        return f"{self.after} to {self.until}"
