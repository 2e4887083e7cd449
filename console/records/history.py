"""Events of one object, newest first, that the caller can read."""

from __future__ import annotations

from django.db.models.functions import Now

from controlplane.events.models import Event
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller


def of(object_type: str, object_id: str, caller: Caller, *, limit: int) -> list[Event]:
    rows = visible_events(caller).annotate(now=Now()).filter(object_type=object_type, object_id=object_id)
    # The newest may have no number yet; they come first.
    return list(rows.order_by("-seq", "-position")[:limit])
