"""The table of backfills. Rows only."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from controlplane.formats.counts import counted


class BackfillProgress(models.Model):
    """How far a backfill is. after: the last key that is done, as text; NULL before the first range."""

    name = models.CharField(primary_key=True, max_length=63)
    after = models.TextField(null=True)
    changed_rows = models.BigIntegerField(db_default=0)
    started_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name}: {counted(self.changed_rows, 'row')}"
