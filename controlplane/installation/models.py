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
