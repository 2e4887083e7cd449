"""Pages that change an agent: approve, drain, resume, retire, remove. Each says first what it would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console import forms
from console.confirmations import Change, Field, confirmed
from console.cpctl_commands import curl
from console.fleet.agent import shown_agent
from console.fleet.impact import in_words, standing
from console.pages import actor_of, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry import lifecycle
from registry.agents.models import Agent
from registry.agents.states import State
from registry.api.agents.lifecycle_views import DrainWrite
from registry.joining.join import own_principal

_WHY = Field("reason", "Why", hint="Everybody who looks at the agent or at the audit log reads it.")
_UNTIL = Field("until", "Until, in UTC", "datetime-local", hint="Empty: until somebody resumes it.")
_FORCE = Field("force", "Remove it although it has not left", "checkbox", required=True)


@page
def approve(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    change = Change(
        f"Approve {agent.name}?",
        (
            f"It may take work of {agent.environment} from now on.",
            f"It says that it serves: {', '.join(agent.service_types) or 'no service type'}.",
        ),
        "Approve it",
        _back(agent),
        f"{agent.name} is approved.",
        (_WHY,),
        _copies(request, agent, "approve"),
    )
    return confirmed(request, change, _plain(lifecycle.approve, caller, agent))


@page
def drain(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    change = Change(
        f"Give {agent.name} no more work?",
        ("It finishes what it has. A restart does not end the drain.", *in_words(standing(agent))),
        "Drain it",
        _back(agent),
        f"{agent.name} gets no more work.",
        (Field("reason", "Why", hint=_WHY.hint, required=True), _UNTIL),
        _copies(request, agent, "drain", {"reason": "Kernel update."}),
    )

    def act(said: Mapping[str, str]) -> None:
        until = forms.moment(said.get("until", ""), "until")
        wanted = forms.filled(DrainWrite, {"reason": said.get("reason", ""), "until": until})
        actor = actor_of(caller, wanted["reason"])
        lifecycle.drain(agent.id, reason=wanted["reason"], until=wanted["until"], actor=actor)

    return confirmed(request, change, act)


@page
def resume(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    change = Change(
        f"Give {agent.name} work again?",
        (
            f"It was drained for: {agent.drain_reason or 'nothing, so nothing will change.'}",
            "It is ready at once if it is alive; its next heartbeat says whether it is congested.",
        ),
        "Resume it",
        _back(agent),
        f"{agent.name} takes work again.",
        (_WHY,),
        _copies(request, agent, "resume"),
    )
    return confirmed(request, change, _plain(lifecycle.resume, caller, agent))


@page
def retire(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    own = own_principal(agent)
    ends = "Its own token ends now: to come back it must join again."
    stays = "It acts with a token that others share: that goes on working, and it may register again."
    change = Change(
        f"Send {agent.name} away?",
        (ends if own else stays, *in_words(standing(agent))),
        "Retire it",
        _back(agent),
        f"{agent.name} is retired.",
        (_WHY,),
        _copies(request, agent, "retire"),
        is_grave=True,
    )
    return confirmed(request, change, _plain(lifecycle.retire, caller, agent))


@page
def remove(request: HttpRequest, caller: Caller, agent_id: UUID) -> HttpResponse:
    agent = _agent(caller, agent_id)
    has_left = agent.state == State.RETIRED
    change = Change(
        f"Remove the record of {agent.name}?",
        (
            "Its record goes, with its providers and their history. Audit log and events stay.",
            "It cannot be undone. One that still runs is told to register again.",
            *(() if has_left else (f"It is {agent.state}: it has not left.", *in_words(standing(agent)))),
        ),
        "Remove it",
        reverse("agents"),
        f"{agent.name} is removed.",
        (_WHY,) if has_left else (_WHY, _FORCE),
        {"curl": curl(request, "DELETE", f"agents/{agent.id}{'' if has_left else '?force=true'}")},
        is_grave=True,
    )

    def act(said: Mapping[str, str]) -> None:
        actor = actor_of(caller, said.get("reason", ""))
        lifecycle.remove(agent.id, force=said.get("force") == "on", actor=actor)

    return confirmed(request, change, act)


def _agent(caller: Caller, agent_id: UUID) -> Agent:
    caller.require(Action.AGENT_WRITE)
    return shown_agent(agent_id)


def _plain(move: Callable[..., Any], caller: Caller, agent: Agent) -> Callable[[Mapping[str, str]], object]:
    return lambda said: move(agent.id, actor=actor_of(caller, said.get("reason", "")))


def _back(agent: Agent) -> str:
    return reverse("agent", args=[agent.id])


def _copies(request: HttpRequest, agent: Agent, verb: str, body: Any = None) -> dict[str, str]:
    return {"curl": curl(request, "POST", f"agents/{agent.id}:{verb}", body)}
