"""Executions of which nothing was heard for long, deleted in batches so that no transaction is long."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from overrides.executions.models import FlyteExecution

_BATCH, _BATCHES = 500, 20


def delete_old_executions() -> int:
    """Delete old executions; return how many. What is left is deleted by the next run."""
    old = FlyteExecution.objects.filter(
        updated_at__lt=Now() - timedelta(days=settings.FLYTE_EXECUTIONS_DAYS)
    ).order_by("updated_at")
    deleted = 0
    for _ in range(_BATCHES):
        ids = list(old.values_list("id", flat=True)[:_BATCH])
        FlyteExecution.objects.filter(id__in=ids).delete()
        deleted += len(ids)
        if len(ids) < _BATCH:
            break
    return deleted
