"""The page of one agent: status, history, providers, configuration and credentials."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.fleet import timeline
from console.fleet.credentials import may_change_tokens
from console.fleet.pages import is_late
from console.fleet.state_history import STATE_OF, damped_returns, moves_of, spans_of
from console.pages import page
from console.records import history
from controlplane.access.models import Principal, Token
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.clock_skew import skew_ms
from registry.agents.flap_damping import FlapRecord
from registry.agents.instances import duplicate_condition
from registry.agents.liveness import whole_seconds
from registry.agents.lookup import get_agent
from registry.agents.models import Agent
from registry.agents.policies import damping_policy, liveness_policy
from registry.agents.states import State
from registry.dispatch.delivery.messaging_conditions import delivery_of
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.models import ResourceRow
from registry.dispatch.resources.search import readable_resources, with_agent
from registry.joining.credentials import OWN_PREFIX
from registry.providers.models import Provider

_MAX_EVENTS = 50
_MAX_RESOURCES = 10
_STRIP = timedelta(hours=24)
_DANGEROUS = ("agent-revoke-tokens", "agent-retire", "agent-remove")
# For an agent with more state changes, the timeline shows only the newest.
_MAX_MOVES = 1000


@page
def agent(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_READ)
    record = get_agent(caller, agent_id)
    events = history.of("agent", str(record.id), caller, limit=_MAX_EVENTS)
    now = record.now  # type: ignore[attr-defined]  # annotated
    policy = liveness_policy()
    principal = Principal.objects.filter(id__in=[record.registered_by]).first()
    context = {
        "agent": record,
        "late": is_late(record),
        "report": getattr(record, "report", None),
        "policy": policy,
        "lease_seconds": whole_seconds(policy.granted(record.lease.set_seconds)),
        "duplicate": duplicate_condition(
            record.lease.rival_since, announced=record.lease.rival_announced, now=now
        ),
        "flap_penalty": FlapRecord(record.flap_penalty, record.flapped_at).decayed(
            damping_policy(policy), now
        ),
        "delivery": delivery_of(getattr(record, "messaging", None)),
        "resources": _resources(record, caller),
        "events": [(event, STATE_OF.get(event.type, "")) for event in events],
        **_strip(record, caller, now),
        "providers": Provider.objects.filter(agent=record).order_by("service_type", "name"),
        "dangerous": _DANGEROUS,
        "principal": principal,
        "has_own_token": principal is not None and principal.name.startswith(OWN_PREFIX),
        "tokens": _tokens(record, caller),
        "may_read_access": caller.verdict(Action.ACCESS_READ, owner=record.team_id).allowed,
        "actions": actions(record, may_change_tokens=may_change_tokens(caller, record))
        if caller.verdict(Action.AGENT_WRITE, owner=record.team_id).allowed
        else [],
        "skew": skew_ms(record.lease.reported_at, record.lease.renewed_at),
        "copies": {
            "curl": curl(request, "GET", f"agents/{record.id}"),
            "cpctl": cpctl("agents", "show", record.name),
        },
    }
    return render(request, "console/fleet/agent.html", context)


def actions(agent: Agent, *, may_change_tokens: bool) -> list[tuple[str, str]]:
    """Return route and label of each action that the agent's state allows; the page shows the first one."""
    state, routes = State(agent.state), []
    if state is State.REGISTERED:
        routes.append(("agent-approve", "Approve agent"))
    if agent.drain_reason:
        routes.append(("agent-resume", "Resume agent"))
    elif state is not State.RETIRED:
        routes.append(("agent-drain", "Drain agent"))
    has_tokens = may_change_tokens and state is not State.RETIRED
    if has_tokens:
        routes.append(("agent-rotate-token", "Rotate token"))
    routes.append(("agent-transfer", "Transfer agent"))
    # What cannot be undone comes last.
    if has_tokens:
        routes.append(("agent-revoke-tokens", "Revoke tokens"))
    if state is not State.RETIRED:
        routes.append(("agent-retire", "Retire agent"))
    return [*routes, ("agent-remove", "Remove agent")]


def _strip(agent: Agent, caller: Caller, now: datetime) -> dict[str, Any]:
    """Return the timeline of the last day, as far as the states are known."""
    since = now - _STRIP
    moves_by_agent, complete_from = moves_of([agent], caller, since, most=_MAX_MOVES)
    moves = moves_by_agent.get(str(agent.id), [])
    spans = spans_of(agent, moves, complete_from, since=since, now=now)
    return {
        "spans": spans,
        "flaps": timeline.flaps(moves, since=since, now=now, damped=damped_returns(agent, caller, since)),
        "ticks": timeline.ticks(since=since, now=now),
        "seen_states": list(dict.fromkeys(span.state for span in spans)),
        "strip_begin": spans[0].begin if spans and spans[0].x else None,
        "width": timeline.WIDTH,
    }


def _tokens(agent: Agent, caller: Caller) -> list[Token]:
    if agent.registered_by is None or not caller.verdict(Action.ACCESS_READ, owner=agent.team_id).allowed:
        return []
    rows = Token.objects.filter(principal_id=agent.registered_by, revoked_at=None)
    return list(rows.order_by("-created_at")[:5])


def _resources(agent: Agent, caller: Caller) -> list[ResourceRow]:
    """Return the resources at the agent whose state changed last, as far as the caller can read them."""
    rows = with_agent(readable_resources(caller), agent.name).exclude(state=ResourceState.DELETED.value)
    return list(rows.defer("spec", "output").order_by("-state_since", "id")[:_MAX_RESOURCES])
