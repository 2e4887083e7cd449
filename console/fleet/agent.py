"""One agent: how it is, how it was, what it serves, who it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.copying import cpctl, curl
from console.fleet import timeline
from console.fleet.pages import is_late
from console.pages import page
from console.records import history
from controlplane.access.callers import Caller
from controlplane.access.models import Principal, Token
from controlplane.access.roles import Action
from controlplane.errors import UnknownAgent
from controlplane.events.models import Event
from registry.agents.policies import liveness_policy
from registry.agents.states import State
from registry.event_types import BY_STATE
from registry.models import Agent, Provider

_TOLD = 50
_STRIP = timedelta(hours=24)
_STATE_OF = {kind.name: state.value for state, kind in BY_STATE.items()}


@page
def agent(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    found = shown_agent(agent_id)
    events = history.of("agent", str(found.id), caller, most=_TOLD)
    now = found.now  # type: ignore[attr-defined]  # annotated
    context = {
        "agent": found,
        "late": is_late(found),
        "report": getattr(found, "report", None),
        "policy": liveness_policy(),
        "events": [(one, _STATE_OF.get(one.type, "")) for one in events],
        "spans": timeline.spans(_changes(events), found.state, since=now - _STRIP, now=now),
        "width": timeline.WIDTH,
        "providers": Provider.objects.filter(agent=found).order_by("service_type", "name"),
        "principal": Principal.objects.filter(id__in=[found.registered_by]).first(),
        "tokens": _tokens(found, caller),
        "may_read_access": caller.verdict(Action.ACCESS_READ).allowed,
        "actions": actions(found) if caller.verdict(Action.AGENT_WRITE).allowed else [],
        "skew": _skew(found),
        "copies": {
            "curl": curl(request, "GET", f"agents/{found.id}"),
            "cpctl": cpctl("agents", "show", found.name),
        },
    }
    return render(request, "console/fleet/agent.html", context)


def shown_agent(agent_id: UUID) -> Agent:
    """Raises UnknownAgent."""
    found = Agent.objects.shown().filter(id=agent_id).first()
    if found is None:
        raise UnknownAgent(f"There is no agent {agent_id}. It may have been removed.")
    return found


def actions(found: Agent) -> list[tuple[str, str]]:
    """The pages that change it, by what its state allows: route and word."""
    state, offered = State(found.state), []
    if state is State.REGISTERED:
        offered.append(("agent-approve", "Approve"))
    if found.drain_reason:
        offered.append(("agent-resume", "Resume"))
    elif state is not State.RETIRED:
        offered.append(("agent-drain", "Drain"))
    if state is not State.RETIRED:
        offered.append(("agent-retire", "Retire"))
    return [*offered, ("agent-remove", "Remove")]


def _changes(events: list[Event]) -> list[tuple[Any, str, str]]:
    moves = [one for one in events if one.type in _STATE_OF and "from" in one.data]
    return [(one.at, one.data["from"], _STATE_OF[one.type]) for one in reversed(moves)]


def _tokens(found: Agent, caller: Caller) -> list[Token]:
    if found.registered_by is None or not caller.verdict(Action.ACCESS_READ).allowed:
        return []
    rows = Token.objects.filter(principal_id=found.registered_by, revoked_at=None)
    return list(rows.order_by("-created_at")[:5])


def _skew(found: Agent) -> int | None:
    """Milliseconds that the agent's clock was ahead of ours at its last heartbeat."""
    lease = found.lease
    if lease.reported_at is None:
        return None
    return round((lease.reported_at - lease.renewed_at).total_seconds() * 1000)
