"""The quota of resource requests in flight: those of which no agent has reported an outcome yet."""

from __future__ import annotations

from controlplane.pools.quota_rules import Added, Countable, Owner, declare
from controlplane.pools.quotas import check
from registry.agents.models import Agent
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.models import ResourceRow
from registry.dispatch.resource_events import scope_of

IN_FLIGHT = (ResourceState.PENDING, ResourceState.QUEUED, ResourceState.PROVISIONING)
_STATES = ", ".join(f"'{state.value}'" for state in IN_FLIGHT)
# Of its agent's environment; until it has an agent, of the one in which it may be placed.
_ROWS = f"""
SELECT lower(coalesce(agent.environment, resource.constraints ->> 'environment', '')) AS owner,
       resource.domain, resource.project, resource.workflow, resource.launch_plan, 1 AS units
  FROM registry_resource AS resource LEFT JOIN registry_agent AS agent ON agent.id = resource.agent_id
 WHERE resource.state IN ({_STATES})
"""  # noqa: S608  (states of our own)
RESOURCE_REQUESTS = declare(
    Countable(
        "resource-requests",
        "resource requests in flight",
        _ROWS,
        "Wait until requests have an outcome, or cancel some.",
        "request",
        Owner.ENVIRONMENT,
        has_scopes=True,
    )
)


def check_request(row: ResourceRow) -> None:
    """Raise QuotaExceeded if too many requests are in flight now. Call after the request was stored."""
    if row.state in IN_FLIGHT:
        check(RESOURCE_REQUESTS, [Added(_environment_of(row), scope_of(row))])


def _environment_of(row: ResourceRow) -> str:
    wanted: str = row.constraints.get("environment", "")
    if row.agent_id is None:
        return wanted
    return Agent.objects.filter(id=row.agent_id).values_list("environment", flat=True).first() or wanted
