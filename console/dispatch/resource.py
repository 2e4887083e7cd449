"""The page of one resource: its state, what was requested, and every message of every attempt."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.dispatch.lookup import get_resource
from console.pages import page
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import Agent
from registry.dispatch import storage
from registry.dispatch.lifecycle import intents
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.models import ResourceRow
from registry.dispatch.resource_events import scope_of
from registry.dispatch.resources.timelines import AssignmentHistory, assignments_of

_ENDING = frozenset({ResourceState.DELETING, ResourceState.DELETED})


@page
def resource(request: HttpRequest, caller: Caller, resource_id: str) -> HttpResponse:
    row = get_resource(caller, resource_id)
    histories = assignments_of(row)
    context = {
        "resource": row,
        "scope": scope_of(row),
        "assignments": list(reversed(histories)),
        "agents": _readable_agents(histories, caller),
        "spec": strict_yaml.dump(row.spec),
        "output": strict_yaml.dump(row.output) if row.output else "",
        "actions": actions(row, caller),
        "copies": {
            "curl": curl(request, "GET", f"resources/{row.id}"),
            "cpctl": cpctl("resources", "get", row.id),
            "yaml": strict_yaml.dump(row.spec),
        },
    }
    return render(request, "console/dispatch/resource.html", context)


def actions(row: ResourceRow, caller: Caller) -> list[tuple[str, str]]:
    """Return route and label of each action that the state and the caller's roles allow."""
    scope, state, routes = scope_of(row), ResourceState(row.state), []
    if caller.verdict(Action.RESOURCE_WRITE, scope, row.team_id).allowed:
        resource = storage.load(row).resource
        if intents.can_cancel(resource):
            routes.append(("resource-cancel", "Cancel request"))
        if intents.can_retry(resource):
            routes.append(("resource-retry", "Try again"))
        if state not in _ENDING:
            routes.append(("resource-delete", "Delete resource"))
    may_force = caller.verdict(Action.DISPATCH_OPERATE, scope, row.team_id).allowed
    if may_force and state is not ResourceState.DELETED:
        routes.append(("resource-force", "Force deletion"))
    return routes


def _readable_agents(histories: list[AssignmentHistory], caller: Caller) -> set[Any]:
    """Return the ids of those agents that have a page for the caller."""
    ids = {history.assignment.agent_id for history in histories}
    return set(Agent.objects.within(caller).filter(id__in=ids).values_list("id", flat=True))
