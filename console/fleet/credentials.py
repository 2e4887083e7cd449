"""Tokens of an agent: rotate and revoke, after a preview. A new token is shown once."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change, require_typed
from console.cpctl_commands import cpctl, curl
from console.fleet.impact import describe_impact, load_impact
from console.fleet.token_impact import TokenImpact, describe_loss, describe_tokens, load_token_impact
from console.pages import actor_of, page
from controlplane.access.models import Principal
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.lookup import get_agent, get_own_agent
from registry.agents.models import Agent
from registry.agents.rights import agent_rights
from registry.joining import credentials

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")


@page
def rotate(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    impact = _impact(agent)
    if impact is None:
        return _explain_shared_token(request, caller, agent)
    change = Change(
        f"Rotate the token of {agent.name}?",
        (
            "The new token is shown once, and is valid at once.",
            *describe_tokens(impact),
            *describe_loss(impact),
            "Give the new token to the agent before its lease ends: then it misses nothing.",
        ),
        "Rotate token",
        _url(agent),
        "",
        (_REASON,),
        _copies(request, agent, "rotate"),
    )
    created: list[str] = []

    def act(form: Mapping[str, str]) -> None:
        own = get_own_agent(caller, agent.id)
        created.append(credentials.rotate(own, actor=actor_of(caller, form.get("reason", ""))))

    response = confirm_change(request, change, act)
    return _show_token(request, agent, created[0]) if created else response


@page
def revoke_tokens(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    impact = _impact(agent)
    if impact is None:
        return _explain_shared_token(request, caller, agent)
    change = Change(
        f"Revoke the tokens of {agent.name}?",
        (
            *describe_tokens(impact),
            *describe_loss(impact),
            *describe_impact(load_impact(agent, caller)),
            _way_back(impact),
        ),
        "Revoke tokens",
        _url(agent),
        f"Revoked the tokens of {agent.name}.",
        (Field("name", f"Name of the agent ({agent.name})", required=True), _REASON),
        _copies(request, agent, "revoke-tokens"),
        is_destructive=True,
    )

    def act(form: Mapping[str, str]) -> None:
        require_typed(form, "name", agent.name)
        own = get_own_agent(caller, agent.id)
        credentials.revoke_all(own, actor=actor_of(caller, form.get("reason", "")))

    return confirm_change(request, change, act)


def may_change_tokens(caller: Caller, agent: Agent) -> bool:
    """Whether the caller may rotate and revoke the tokens of the agent, as the API decides it."""
    is_writer = caller.verdict(Action.AGENT_WRITE, owner=agent.team_id).allowed
    return is_writer and agent_rights(caller, Action.AGENT_HEARTBEAT).allow(agent)


def _agent(caller: Caller, agent_id: UUID) -> Agent:
    caller.require_for_some_owner(Action.AGENT_WRITE)
    agent = get_agent(caller, agent_id)
    caller.require(Action.AGENT_WRITE, owner=agent.team_id)
    caller.require(Action.AGENT_HEARTBEAT, owner=agent.team_id)
    return agent


def _impact(agent: Agent) -> TokenImpact | None:
    """Return what a change of the agent's own tokens does; None if the agent shares its token."""
    principal = credentials.own_principal(agent)
    if principal is None:
        return None
    credentials.require_own_principal(agent)
    return load_token_impact(agent, principal)


def _way_back(impact: TokenImpact) -> str:
    if impact.renews_by_issuer:
        return (
            "The agent renews its token with tokens of its issuer: it returns by itself. To end that, revoke"
            " the join token with the issuer rule, or retire the agent."
        )
    return "The agent returns with a new token: choose Rotate token later, or let it join again."


def _explain_shared_token(request: HttpRequest, caller: Caller, agent: Agent) -> HttpResponse:
    """Say whose token the agent uses, and how many agents would lose it."""
    principal = Principal.objects.filter(id=agent.registered_by).first() if agent.registered_by else None
    others = Agent.objects.within(caller).filter(registered_by=agent.registered_by).exclude(id=agent.id)
    context = {
        "agent": agent,
        "principal": principal,
        "others": others.count() if principal else 0,
        "may_read_tokens": caller.verdict(Action.ACCESS_READ).allowed,
    }
    return render(request, "console/fleet/shared_token.html", context)


def _show_token(request: HttpRequest, agent: Agent, secret: str) -> HttpResponse:
    """Show a new token, which no cache may keep."""
    response = render(request, "console/fleet/agent_token.html", {"agent": agent, "secret": secret})
    response.headers["Cache-Control"] = "no-store"
    return response


def _url(agent: Agent) -> str:
    return reverse("agent", args=[agent.id])


def _copies(request: HttpRequest, agent: Agent, verb: str) -> dict[str, str]:
    return {
        "curl": curl(request, "POST", f"agents/{agent.id}:{verb}"),
        "cpctl": cpctl("agents", verb, agent.name),
    }
