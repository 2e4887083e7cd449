"""Idempotency keys: responses to POST requests, kept for a day."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now


class IdempotencyKey(models.Model):
    """The key and response of a request, written in the transaction of the request's effect."""

    principal_id = models.UUIDField()
    route = models.CharField(max_length=255)
    key = models.CharField(max_length=255)
    body_digest = models.BinaryField(max_length=32)
    status = models.SmallIntegerField()
    headers: Any = models.JSONField(default=dict)
    body: Any = models.JSONField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["principal_id", "route", "key"], name="one_effect_per_key")
        ]
        indexes = [models.Index(fields=["created_at"], name="idempotency_key_by_age")]

    def __str__(self) -> str:
        return f"{self.route} {self.key}"
