"""Search agents by filters, label selectors and part of a name, in some order.

Each uses an index, but for orders by what heartbeats write: an index there would make each heartbeat dearer.
They read all leases once a page, 0.1 s for 100,000 agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Exists, F, FloatField, OuterRef, Value
from django.db.models.functions import Coalesce, Extract

from controlplane.api.sort_keys import SortKeys
from controlplane.api.time_range import in_range
from controlplane.database.label_conditions import selected_by
from controlplane.identity.callers import Caller
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.querysets import AgentQuerySet, late
from registry.providers.health import Health
from registry.task_types.models import ServedTaskType

SORT_KEYS = SortKeys(
    {
        "name": ("name",),
        "environment": ("environment",),
        "health_status": ("state",),
        "state_since": ("state_since",),
        "create_time": ("created_at",),
        "last_heartbeat": ("last_heartbeat",),
        "consumer_lag": ("consumer_lag",),
        "clock_skew_ms": ("clock_skew",),
    },
    tie_break=("name",),
)
# By the column of an order. A clock without a report is taken as right.
_OF_LEASES: dict[str, Any] = {
    "last_heartbeat": F("lease__renewed_at"),
    "consumer_lag": F("lease__consumer_lag"),
    "clock_skew": Coalesce(
        Extract(F("lease__reported_at") - F("lease__renewed_at"), "epoch"),
        Value(0.0),
        output_field=FloatField(),
    ),
}


def search_agents(query: Mapping[str, Any], caller: Caller) -> AgentQuerySet:
    """Return the caller's agents that match the parameters of a list, with the columns that `sort` orders by.

    Raises InvalidRequest.
    """
    rows: Any = Agent.objects.shown().within(caller)
    sorted_by = {name.removeprefix("-") for name in query.get("sort", ())}
    rows = rows.annotate(**{name: _OF_LEASES[name] for name in sorted_by & _OF_LEASES.keys()})
    rows = _with_columns(rows, query)
    if "service_type" in query:
        withheld = {"service_type": query["service_type"], "status": Health.UNAVAILABLE.value}
        rows = rows.filter(service_types__contains=[query["service_type"]])
        rows = rows.exclude(service_type_conditions__contains=[withheld])
    if "task_type" in query:
        serving = ServedTaskType.objects.filter(agent_id=OuterRef("pk"), name=query["task_type"])
        rows = rows.filter(Exists(serving))
    if query.get("q"):
        rows = rows.filter(name__icontains=query["q"])
    rows = rows.filter(in_range(query, "state_since"))
    if query.get("late"):
        rows = rows.filter(late(liveness_policy().interval))
    agents: AgentQuerySet = rows.filter(selected_by(query.get("selector", "")))
    return agents


def _with_columns(rows: Any, query: Mapping[str, Any]) -> Any:
    if states := query.get("health_status"):
        rows = rows.filter(state__in=states)
    if "environment" in query:
        rows = rows.filter(environment=query["environment"])
    if "team" in query:
        rows = rows.filter(team__slug=query["team"])
    return rows
