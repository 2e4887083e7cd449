"""Confirmation pages for actions on an agent: approve, drain, resume, retire, remove."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console import forms
from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.fleet.impact import describe_impact, load_impact
from console.pages import actor_of, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry import lifecycle, ownership
from registry.agents.lookup import get_agent, lock_agent
from registry.agents.models import Agent
from registry.agents.states import State
from registry.api.agents.lifecycle_views import DrainWrite
from registry.dispatch.agent_work import unsettled_among
from registry.joining.credentials import own_principal

_REASON = Field("reason", "Reason", hint="Shown on the agent and in the audit log.")
_UNTIL = Field("until", "End (UTC)", "datetime-local", hint="Leave empty to drain until resumed.")
_FORCE = Field("force", "Remove although not retired", "checkbox", required=True)


@page
def approve(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    change = Change(
        f"Approve {agent.name}?",
        (
            f"The agent can take work in {agent.environment} immediately.",
            f"Service types: {', '.join(agent.service_types) or 'none'}.",
        ),
        "Approve agent",
        _agent_url(agent),
        f"Approved {agent.name}.",
        (_REASON,),
        _copies(request, agent, "approve"),
    )
    return confirm_change(request, change, _without_input(lifecycle.approve, caller, agent))


@page
def drain(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    change = Change(
        f"Drain {agent.name}?",
        (
            "The agent gets no new work, as with a cordon. What it has stays until it is done: nothing is"
            " moved or ended, however long the drain lasts.",
            f"Resources there: {unsettled_among([agent.id])}.",
            "A restart does not end the drain; Resume agent does.",
            *describe_impact(load_impact(agent, caller)),
        ),
        "Drain agent",
        _agent_url(agent),
        f"Draining {agent.name}.",
        (Field("reason", "Reason", hint=_REASON.hint, required=True), _UNTIL),
        _copies(request, agent, "drain", {"reason": "Kernel update."}, ["--reason", "Kernel update."]),
    )

    def act(form: Mapping[str, str]) -> None:
        until = forms.parse_time(form.get("until", ""), "until")
        body = forms.parse_form(DrainWrite, {"reason": form.get("reason", ""), "until": until})
        actor = actor_of(caller, body["reason"])
        lifecycle.drain(_lock(caller, agent), reason=body["reason"], until=body["until"], actor=actor)

    return confirm_change(request, change, act)


@page
def resume(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    change = Change(
        f"Resume {agent.name}?",
        (
            f"Drain reason: {agent.drain_reason or 'none; the agent is not draining.'}",
            "A live agent is ready immediately; its next heartbeat shows whether it is congested.",
        ),
        "Resume agent",
        _agent_url(agent),
        f"Resumed {agent.name}.",
        (_REASON,),
        _copies(request, agent, "resume"),
    )
    return confirm_change(request, change, _without_input(lifecycle.resume, caller, agent))


@page
def transfer(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    owner = f"team {agent.team.slug}" if agent.team else "the platform"
    change = Change(
        f"Transfer {agent.name}?",
        (
            f"Owner: {owner}.",
            "Roles that are limited to a team apply to its agents alone. The agent keeps its own token.",
        ),
        "Transfer agent",
        reverse("agents"),
        f"Transferred {agent.name}.",
        (Field("team", "New team", hint="Leave empty for the platform."), _REASON),
        _copies(request, agent, "transfer", {"team": "ml"}, ["ml"]),
    )

    def act(form: Mapping[str, str]) -> None:
        actor = actor_of(caller, form.get("reason", ""))
        ownership.transfer(agent.id, form.get("team") or None, caller=caller, actor=actor)

    return confirm_change(request, change, act)


@page
def retire(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    principal = own_principal(agent)
    revoked = "The agent's own token is revoked: to return, it must join again."
    unchanged = "The agent uses a shared token, which stays valid: it can register again."
    change = Change(
        f"Retire {agent.name}?",
        (revoked if principal else unchanged, *describe_impact(load_impact(agent, caller))),
        "Retire agent",
        _agent_url(agent),
        f"Retired {agent.name}.",
        (_REASON,),
        _copies(request, agent, "retire"),
        is_destructive=True,
    )
    return confirm_change(request, change, _without_input(lifecycle.retire, caller, agent))


@page
def remove(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    is_retired = agent.state == State.RETIRED
    change = Change(
        f"Remove the record of {agent.name}?",
        (
            "The record, its providers and their history are deleted. Audit log and events are kept.",
            "This cannot be undone. An agent that is still running must register again.",
            *(
                ()
                if is_retired
                else (
                    f"The agent is {agent.state}, not retired.",
                    *describe_impact(load_impact(agent, caller)),
                )
            ),
        ),
        "Remove agent",
        reverse("agents"),
        f"Removed {agent.name}.",
        (_REASON,) if is_retired else (_REASON, _FORCE),
        {
            "curl": curl(request, "DELETE", f"agents/{agent.id}{'' if is_retired else '?force=true'}"),
            "cpctl": cpctl("agents", "remove", str(agent.id), *(() if is_retired else ("--force",))),
        },
        is_destructive=True,
    )

    def act(form: Mapping[str, str]) -> None:
        actor = actor_of(caller, form.get("reason", ""))
        lifecycle.remove(_lock(caller, agent), force=form.get("force") == "on", actor=actor)

    return confirm_change(request, change, act)


def _agent(caller: Caller, agent_id: UUID) -> Agent:
    caller.require_for_some_owner(Action.AGENT_WRITE)
    agent = get_agent(caller, agent_id)
    caller.require(Action.AGENT_WRITE, owner=agent.team_id)
    return agent


def _lock(caller: Caller, agent: Agent) -> UUID:
    """Check the permission again, while the agent cannot get another owner."""
    return lock_agent(caller, agent.id, Action.AGENT_WRITE).id


def _without_input(
    operation: Callable[..., Any], caller: Caller, agent: Agent
) -> Callable[[Mapping[str, str]], object]:
    return lambda form: operation(_lock(caller, agent), actor=actor_of(caller, form.get("reason", "")))


def _agent_url(agent: Agent) -> str:
    return reverse("agent", args=[agent.id])


def _copies(
    request: HttpRequest, agent: Agent, verb: str, body: Any = None, words: Sequence[str] = ()
) -> dict[str, str]:
    return {
        "curl": curl(request, "POST", f"agents/{agent.id}:{verb}", body),
        "cpctl": cpctl("agents", verb, str(agent.id), *words),
    }
