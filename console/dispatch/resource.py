"""The page of one resource: its state, what was requested, and every message of every attempt."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.dispatch.lookup import get_resource
from console.dispatch.masking import masked
from console.dispatch.transitions import transitions_of
from console.pages import page
from console.records import history
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import Agent
from registry.dispatch import storage
from registry.dispatch.lifecycle import intents
from registry.dispatch.lifecycle.records import Command
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.message_data import message_data
from registry.dispatch.models import ResourceRow, TimelineRow
from registry.dispatch.resource_events import scope_of
from registry.dispatch.resources.timelines import AssignmentHistory, assignments_of

_MAX_EVENTS = 100
_SENT = frozenset(command.value for command in Command)
_ENDING = frozenset({ResourceState.DELETING, ResourceState.DELETED})


@page
def resource(request: HttpRequest, caller: Caller, resource_id: str) -> HttpResponse:
    row = get_resource(caller, resource_id)
    histories = assignments_of(row)
    events = history.of("resource", row.id, caller, limit=_MAX_EVENTS)
    spec, output = masked(row.spec), masked(row.output)
    context = {
        "resource": row,
        "reason": masked(row.reason),
        "scope": scope_of(row),
        "assignments": [(one.assignment, _messages(row, one)) for one in reversed(histories)],
        "transitions": transitions_of(reversed(events)),
        "has_more_events": len(events) == _MAX_EVENTS,
        "agents": _readable_agents(histories, caller),
        "spec": strict_yaml.dump(spec),
        "output": strict_yaml.dump(output) if output else "",
        "has_masks": (spec, output) != (row.spec, row.output),
        "actions": actions(row, caller),
        "copies": {
            "curl": curl(request, "GET", f"resources/{row.id}"),
            "cpctl": cpctl("resources", "get", row.id),
            # A masked spec could not be sent again.
            "yaml": strict_yaml.dump(spec) if spec == row.spec else "",
        },
    }
    return render(request, "console/dispatch/resource.html", context)


def _messages(row: ResourceRow, attempt: AssignmentHistory) -> list[tuple[TimelineRow, str, str]]:
    """Return each line of an attempt with its text, and the first of each message with what was sent."""
    shown: set[str] = set()
    lines = []
    for entry in attempt.entries:
        is_first = entry.what in _SENT and entry.what not in shown
        shown.add(entry.what)
        lines.append((entry, masked(entry.text), _payload(row, entry) if is_first else ""))
    return lines


def _payload(row: ResourceRow, entry: TimelineRow) -> str:
    try:
        return strict_yaml.dump(masked(message_data(row, entry.epoch, Command(entry.what))))
    except ValueError:
        # The profile of the service type was changed since.
        return ""


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
