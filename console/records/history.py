"""What happened to one thing, newest first, as far as the caller may read it."""

from __future__ import annotations

from django.db.models.functions import Now

from controlplane.access.callers import Caller
from controlplane.access.roles import Action
from controlplane.events import log
from controlplane.events.models import Event


def of(object_type: str, object_id: str, caller: Caller, *, most: int) -> list[Event]:
    log.number_committed()
    rows = Event.objects.within(caller.scopes_for(Action.EVENT_READ)).exclude(seq=None).annotate(now=Now())
    return list(rows.filter(object_type=object_type, object_id=object_id).order_by("-seq")[:most])
