"""The work of agents by scope: what a change of overrides there reaches."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from django.db.models import Count

from controlplane.identity.callers import Caller
from controlplane.scopes import Scope
from overrides.editing.reach import Work
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.resources.search import readable_resources

# Pairs of an agent and a scope that are read for a plan.
_MOST = 10_000


def work_in(caller: Caller, projects: Collection[str]) -> Iterator[Work]:
    """Yield the resources of the projects that the caller may read, counted by agent and scope.

    projects: `""` for resources outside projects.
    """
    rows = readable_resources(caller).filter(project__in=projects, agent_id__isnull=False)
    groups = (
        rows.exclude(state=ResourceState.DELETED.value)
        .order_by()
        .values_list("agent_id", "agent_name", "domain", "project", "workflow", "launch_plan")
        .annotate(count=Count("*"))[:_MOST]
    )
    for agent_id, name, domain, project, workflow, launch_plan, count in groups:
        yield Work(agent_id, name, Scope(domain, project, workflow, launch_plan), count)
