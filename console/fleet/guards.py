"""Fleet guards: where silence is doubted, by which numbers, and the operator's word."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console import forms
from console.confirmations import Change, Field, confirmed
from console.cpctl_commands import curl
from console.pages import actor_of, page, page_of
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.states import State
from registry.api.environments import FleetGuardRulingWrite
from registry.environments.evidence import WHOLE_FLEET
from registry.environments.fleet_guard import Ruling
from registry.environments.guarding import overrule
from registry.environments.models import Environment
from registry.environments.policies import guard_policy
from registry.listing import counts

_WORDS = {
    "lift": "Silent agents are marked unavailable at once, and their work may move to other agents. "
    "Ends with this incident.",
    "engage": "Agents that fall silent become unknown, and their work stays with them.",
    "none": "The rule decides again, with the next sweep.",
}


@page
def guards(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.AGENT_READ)
    policy = guard_policy()
    rows = Environment.objects.annotate(now=Now())
    only_engaged = request.GET.get("engaged") == "1"
    if only_engaged:
        rows = rows.exclude(guard_engaged_at=None)
    found = page_of(request, caller, rows, order=("name",))
    by_environment = counts.agent_counts()
    by_environment[WHOLE_FLEET] = counts.total(by_environment)
    context = {
        "found": found,
        "guards": [(one, _now(by_environment.get(one.name, {}))) for one in found.items],
        "only_engaged": only_engaged,
        "policy": policy,
        "percent": round(policy.share * 100),
        "lift_percent": round(policy.lift_share * 100),
        "longest": round(policy.longest.total_seconds() / 60),
        "may_write": caller.verdict(Action.AGENT_WRITE).allowed,
        "curl": curl(request, "GET", "fleet-guards"),
    }
    return render(request, "console/fleet/guards.html", context)


@page
def ruling(request: HttpRequest, caller: Caller) -> HttpResponse:
    """`?environment=`; an empty one is the whole fleet. `?ruling=` is what is offered first."""
    caller.require(Action.AGENT_WRITE)
    environment = request.GET.get("environment", "")
    offered = request.GET.get("ruling", "lift")
    known = Environment.objects.filter(name=environment).first() if environment.isprintable() else None
    figures = (
        (f"Last counted: {known.guard_due_count} of {known.guard_agent_count} agents silent.",)
        if known
        else ()
    )
    change = Change(
        f"Overrule the fleet guard of {environment[:80] or 'the whole fleet'}?",
        (*figures, *(f"{word}: {meaning}" for word, meaning in _WORDS.items())),
        "Overrule it",
        reverse("guards"),
        "The guard follows your word.",
        (
            Field("ruling", "Your word", value=offered, choices=tuple(_WORDS)),
            Field("seconds", "For so many seconds", "number", value="900"),
            Field("reason", "Why"),
        ),
        {"curl": curl(request, "POST", "fleet-guards:overrule", _body(environment, offered))},
        is_grave=True,
    )

    def act(said: Mapping[str, str]) -> None:
        body = {**_body(environment, said.get("ruling", "")), "seconds": forms.whole(said.get("seconds", ""))}
        wanted = forms.filled(FleetGuardRulingWrite, body)
        word = None if wanted["ruling"] == "none" else Ruling(wanted["ruling"])
        actor = actor_of(caller, said.get("reason", ""))
        overrule(environment, word, lasting=timedelta(seconds=wanted["seconds"]), actor=actor)

    return confirmed(request, change, act)


def _now(states: Mapping[State, int]) -> dict[str, int]:
    """How many agents there are, and how many of them are silent."""
    return {
        "agents": counts.registered(states),
        "unknown": states.get(State.UNKNOWN, 0),
        "unavailable": states.get(State.UNAVAILABLE, 0),
    }


def _body(environment: str, word: str) -> dict[str, str]:
    return {"environment": environment, "ruling": word}
