"""Archives of partitions, and legal holds."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from controlplane.database.scoped import segment_field


class Archive(models.Model):
    """A partition's archive. The function `retention_drop_partition` compares the partition with it.

    first_key, last_key: of `position` or `id`. sha256: of the compressed file. root: the last seal of the
    audit log in it, or the SHA-256 of an events archive's lines.
    """

    partition = models.CharField(max_length=63, primary_key=True)
    log = models.CharField(max_length=63)
    upper_at = models.DateTimeField()
    count = models.BigIntegerField()
    first_key = models.BigIntegerField(null=True)
    last_key = models.BigIntegerField(null=True)
    sha256 = models.CharField(max_length=64)
    root = models.CharField(max_length=64)
    # Below ARCHIVE_URL.
    path = models.CharField(max_length=255)
    verified_at = models.DateTimeField(db_default=Now())
    dropped_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.partition


class LegalHold(models.Model):
    """Keeps all partitions with rows at or below its scope. until: NULL means until it is released."""

    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()
    until = models.DateTimeField(null=True)
    reason = models.TextField()
    placed_by = models.CharField(max_length=63)
    placed_at = models.DateTimeField(db_default=Now())
    released_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.pk}: {self.reason}"
