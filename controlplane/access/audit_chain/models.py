"""Seals of the audit log. Rows are only added; retention deletes segments with their partition."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now


class AuditSeal(models.Model):
    """The seal of one day. root: covers all records of its segments and the previous root."""

    number = models.BigIntegerField(primary_key=True)
    day = models.DateField(unique=True)
    count = models.BigIntegerField()
    previous_root = models.BinaryField(max_length=32)
    root = models.BinaryField(max_length=32)
    sealed_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return f"{self.number}: {self.day}"


class AuditSegment(models.Model):
    """At most 1,000 sealed records, in the chain's order. hashes: 32 bytes for each record.

    Stored for each record, so that a break can be located.
    """

    seal = models.ForeignKey(AuditSeal, on_delete=models.PROTECT, related_name="segments")
    place = models.IntegerField()
    record_ids = ArrayField(models.BigIntegerField())
    ats = ArrayField(models.DateTimeField())
    hashes = models.BinaryField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["seal", "place"], name="audit_segment_place")]
        indexes = [BrinIndex(fields=["last_at"], name="audit_segment_by_time", autosummarize=True)]

    def __str__(self) -> str:
        return f"{self.seal_id}/{self.place}"


class AuditCheck(models.Model):
    """The result of one verification. first_break: empty if the chain is intact."""

    at = models.DateTimeField(db_default=Now(), editable=False)
    seal_count = models.BigIntegerField()
    record_count = models.BigIntegerField()
    break_count = models.IntegerField()
    first_break = models.CharField(max_length=300, blank=True, default="")

    def __str__(self) -> str:
        return self.first_break or "intact"
