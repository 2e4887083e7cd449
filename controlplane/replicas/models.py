"""The table of the beat of replication."""

from django.db import models


class Beat(models.Model):
    """One row, which the primary changes each second while replicas are in use.

    timeline: of the primary, as in names of WAL files. A replica that has it has replayed from that timeline.
    """

    id = models.SmallIntegerField(primary_key=True)
    at = models.DateTimeField()
    timeline = models.CharField(max_length=8)

    def __str__(self) -> str:
        return f"{self.timeline} at {self.at}"
