"""Old records of dispatch, deleted in batches so that no transaction is long."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from controlplane.messaging import dead_letters, inbox, outbox
from registry.dispatch.lifecycle.states import SETTLED
from registry.dispatch.models import AssignmentRow, ResourceRow, TimelineRow

_BATCH, _BATCHES = 500, 20


def delete_old() -> int:
    """Delete what is past its retention; return how many rows. What is left is deleted by the next run."""
    deleted = 0
    for delete_batch in (_delete_resources, outbox.delete_old, inbox.delete_old, dead_letters.delete_old):
        for _ in range(_BATCHES):
            count = delete_batch(_BATCH)
            deleted += count
            if count < _BATCH:
                break
    return deleted


@transaction.atomic
def _delete_resources(limit: int) -> int:
    """Delete records of deleted resources, unless something of them is still being deleted."""
    age = timedelta(days=settings.DISPATCH_TOMBSTONE_DAYS)
    unsettled = AssignmentRow.objects.filter(resource=OuterRef("pk")).exclude(
        state__in=[state.value for state in SETTLED]
    )
    old = ResourceRow.objects.filter(~Exists(unsettled), deleted_at__lt=Now() - age)
    ids = list(
        old.select_for_update(of=("self",), skip_locked=True)
        .order_by("id")
        .values_list("id", flat=True)[:limit]
    )
    TimelineRow.objects.filter(resource__in=ids).delete()
    AssignmentRow.objects.filter(resource__in=ids).delete()
    ResourceRow.objects.filter(id__in=ids).delete()
    return len(ids)
