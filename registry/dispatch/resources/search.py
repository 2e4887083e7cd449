"""Search resources by filters and label selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.api.sort_keys import SortKeys
from controlplane.database.label_conditions import selected_by
from controlplane.identity.callers import Caller
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.models import AssignmentRow, ResourceQuerySet, ResourceRow
from registry.dispatch.storage import unknown_resource

SORT_KEYS = SortKeys(
    {
        "id": ("id",),
        "created_at": ("created_at",),
        "updated_at": ("updated_at",),
        "state": ("state",),
        "state_since": ("state_since",),
        "service_type": ("service_type",),
        "project": ("project",),
        "domain": ("domain",),
        "created_by": ("created_by",),
    },
    tie_break=("id",),
)
_COLUMNS = ("service_type", "project", "domain")


def get_readable(caller: Caller, resource_id: str) -> ResourceRow:
    """Return the resource. Raises UnknownResource, also if the caller may not read it."""
    row = readable_resources(caller).filter(id=resource_id).first()
    if row is None:
        raise unknown_resource(resource_id)
    return row


def readable_resources(caller: Caller) -> ResourceQuerySet:
    return ResourceRow.objects.of(caller).select_related("team")


def search_resources(query: Mapping[str, Any], caller: Caller) -> ResourceQuerySet:
    """Return the caller's resources that match the parameters of a list. Raises InvalidRequest.

    Deleted ones only with `show_deleted`, or if that state is in `state`.
    """
    rows = readable_resources(caller)
    rows = rows.filter(**{name: query[name] for name in _COLUMNS if name in query})
    if states := query.get("state"):
        rows = rows.filter(state__in=states)
    elif not query.get("show_deleted"):
        rows = rows.exclude(state=ResourceState.DELETED.value)
    if "team" in query:
        rows = rows.filter(team__slug=query["team"])
    if "agent" in query:
        rows = with_agent(rows, query["agent"])
    return rows.filter(selected_by(query.get("selector", "")))


def with_agent(rows: ResourceQuerySet, name: str) -> ResourceQuerySet:
    """Keep the resources whose last agent has this name. The assignments have the index."""
    assigned = AssignmentRow.objects.filter(agent_name=name).values("resource_id")
    return rows.filter(id__in=assigned, agent_name=name)
