"""One agent: how it is, how it was, what it serves, who it is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.fleet import timeline
from console.fleet.pages import is_late
from console.pages import page
from console.records import history
from controlplane.access.models import Principal, Token
from controlplane.errors import UnknownAgent
from controlplane.events.visibility import visible_events
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.event_types import BY_STATE
from registry.agents.instances import duplicate_condition
from registry.agents.liveness import whole_seconds
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.states import State
from registry.providers.models import Provider

_TOLD = 50
_STRIP = timedelta(hours=24)
# An agent that flaps more often is shown from the oldest of these on.
_MOST_MOVES = 1000
_STATE_OF = {kind.name: state.value for state, kind in BY_STATE.items()}


@page
def agent(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    found = shown_agent(agent_id)
    events = history.of("agent", str(found.id), caller, most=_TOLD)
    now = found.now  # type: ignore[attr-defined]  # annotated
    policy = liveness_policy()
    context = {
        "agent": found,
        "late": is_late(found),
        "report": getattr(found, "report", None),
        "policy": policy,
        "lease_seconds": whole_seconds(policy.granted(found.lease.set_seconds)),
        "duplicate": duplicate_condition(
            found.lease.rival_since, announced=found.lease.rival_announced, now=now
        ),
        "events": [(one, _STATE_OF.get(one.type, "")) for one in events],
        **_strip(found, caller, now),
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


def _strip(found: Agent, caller: Caller, now: datetime) -> dict[str, Any]:
    """The states of the last day: of the time for which they are known."""
    since = now - _STRIP
    moves = _moves(found, caller, since)
    known_from = found.created_at
    if len(moves) > _MOST_MOVES:
        moves = moves[-_MOST_MOVES:]
        known_from = moves[0].at
    spans = timeline.spans(
        moves,
        found.state,
        state_since=found.state_since,
        known_from=known_from,
        since=since,
        now=now,
    )
    return {
        "spans": spans,
        "ticks": timeline.ticks(since=since, now=now),
        "seen_states": list(dict.fromkeys(one.state for one in spans)),
        "strip_begin": spans[0].begin if spans and spans[0].x else None,
        "width": timeline.WIDTH,
    }


def _moves(found: Agent, caller: Caller, since: datetime) -> list[timeline.Move]:
    """Changes of state that the caller may read, the oldest first; one more than is shown at most."""
    rows = visible_events(caller).filter(object_type="agent", object_id=str(found.id), at__gte=since)
    newest = rows.filter(type__in=_STATE_OF).exclude(seq=None).order_by("-seq")[: _MOST_MOVES + 1]
    return [timeline.Move(one.at, one.data.get("from", ""), _STATE_OF[one.type]) for one in reversed(newest)]


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
