"""The sweep of timers: what is overdue, each resource in a transaction of its own. Safe in any number."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now

from controlplane.identity.actors import system
from registry.dispatch import storage
from registry.dispatch.lifecycle.timers import run_timers
from registry.dispatch.models import ResourceRow
from registry.dispatch.placement.candidates import Ruling
from registry.dispatch.placement.place import find_agent, place_if_needed, rule_on_stored
from registry.dispatch.placement.waiting import wake_waiting
from registry.dispatch.policies import timer_policy
from registry.sweep.reachable import grace_has_passed

_log = logging.getLogger(__name__)
_ACTOR = system("dispatch").name
# Of one run, which ends before the next one starts. What is left is the most overdue of the next run.
_MOST, _SECONDS = 1000, 4.0
_AFTER_AN_ERROR = timedelta(minutes=1)


def sweep_resources() -> int:
    """Run the timers of resources that are due, the most overdue first; return how many were looked at."""
    if not grace_has_passed():
        return 0
    wake_waiting()
    ends_at, looked_at = time.monotonic() + _SECONDS, 0
    due = ResourceRow.objects.filter(due_at__lte=Now()).order_by("due_at").values_list("id", flat=True)
    for resource_id in list(due[:_MOST]):
        if time.monotonic() >= ends_at:
            break
        looked_at += _look_at(resource_id)
    return looked_at


def _look_at(resource_id: str) -> bool:
    try:
        return _run_one(resource_id, rule_on_stored(resource_id))
    except Exception:  # whatever is wrong with one resource must not stop the others
        _log.exception("The timers of resource %s failed. They run again in a minute.", resource_id)
        ResourceRow.objects.filter(id=resource_id).update(due_at=Now() + _AFTER_AN_ERROR)
        return True


@transaction.atomic
def _run_one(resource_id: str, ruling: Ruling | None) -> bool:
    rows = ResourceRow.objects.select_for_update(of=("self",), skip_locked=True)
    row = rows.filter(id=resource_id, due_at__lte=Now()).first()
    if row is None:
        return False
    loaded = storage.load(row)
    change = run_timers(
        loaded.resource,
        loaded.standings,
        timer_policy(),
        now=loaded.now,
        has_other=lambda: find_agent(loaded, loaded.resource, ruling).chosen is not None,
    )
    storage.save(loaded, place_if_needed(loaded, change, ruling), actor=_ACTOR)
    return True
