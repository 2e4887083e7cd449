"""Tables of the running processes, and of the version that last changed the schema. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now


class Member(models.Model):
    """A process that reported every ten seconds until `seen_at`.

    instance: its name among processes of its kind. schema: the last migration of each app that it knows.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    process = models.CharField(max_length=32)
    instance = models.CharField(max_length=255)
    host = models.CharField(max_length=255)
    pid = models.IntegerField()
    version = models.CharField(max_length=63)
    commit = models.CharField(max_length=64, blank=True, default="")
    schema: Any = models.JSONField(default=dict)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.process} {self.instance}"


class SchemaRecord(models.Model):
    """A single row: the newest version that migrated, and the oldest whose processes may still run."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    version = models.CharField(max_length=63)
    oldest_process = models.CharField(max_length=63)
    migrated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(name="schema_record_is_one_row", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"schema of {self.version}, for processes from {self.oldest_process} on"
