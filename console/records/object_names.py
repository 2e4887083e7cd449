"""Present names of the objects of records, where a record has only their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db.models import QuerySet

from console.records.objects import is_uuid
from controlplane.access.models import AuditRecord
from controlplane.delivery.sinks import visible_sinks
from controlplane.identity.callers import Caller
from registry.agents.models import Agent

# Only names that the caller may read.
_NAMED: Mapping[str, Callable[[Caller], QuerySet[Any]]] = {
    "agent": Agent.objects.within,
    "sink": visible_sinks,
}


def present_names(records: Iterable[AuditRecord], caller: Caller) -> dict[str, str]:
    """Return the names of agents and sinks that exist, by the ids in the records: one query for each type."""
    ids: dict[str, set[str]] = {}
    for record in records:
        if record.object_type in _NAMED and is_uuid(record.object_id):
            ids.setdefault(record.object_type, set()).add(record.object_id)
    return {
        str(key): name
        for object_type, wanted in ids.items()
        for key, name in _NAMED[object_type](caller).filter(id__in=wanted).values_list("id", "name")
    }
