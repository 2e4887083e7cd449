"""The table of backups that were reported. Rows only."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from controlplane.ids import uuid7


class Backup(models.Model):
    """A backup that somebody else made and reported here. location: where it is, in the reporter's words.

    next_within_seconds: after this one, the next is due.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    finished_at = models.DateTimeField()
    next_within_seconds = models.IntegerField()
    size_bytes = models.BigIntegerField(null=True)
    location = models.CharField(max_length=255, blank=True, default="")
    reported_by = models.CharField(max_length=63)
    reported_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["-finished_at"], name="backup_by_end")]

    def __str__(self) -> str:
        return f"backup of {self.finished_at}"


class Pause(models.Model):
    """A single row: whether changes are paused, why, since when, and who paused them."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    is_on = models.BooleanField(db_default=False)
    reason = models.CharField(max_length=200, db_default="")
    since = models.DateTimeField(db_default=Now())
    set_by = models.CharField(max_length=63, db_default="")

    class Meta:
        constraints = [models.CheckConstraint(name="pause_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"paused: {self.reason}" if self.is_on else "not paused"
