"""The fleet guards page, and the page that sets the mode of a guard."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console import forms
from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.pages import actor_of, load_page, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.states import State
from registry.api.environments import FleetGuardRulingWrite
from registry.environments.evidence import WHOLE_FLEET
from registry.environments.fleet_guard import GuardMode
from registry.environments.guarding import set_guard_mode
from registry.environments.models import Environment
from registry.environments.policies import guard_policy
from registry.environments.visible import conceal_other_teams, visible_environments
from registry.listing import counts

_MEANINGS = {
    "lift": "Silent agents become unavailable immediately, and their work can move to other agents. "
    "Ends when the incident is over.",
    "engage": "Silent agents become unknown, and their work stays with them.",
    "none": "The guard is automatic again from the next sweep.",
}


@page
def guards(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_READ)
    policy = guard_policy()
    rows = visible_environments(caller).annotate(now=Now())
    only_engaged = request.GET.get("engaged") == "1"
    if only_engaged:
        rows = rows.exclude(guard_engaged_at=None)
    results = load_page(request, caller, rows, order=("name",))
    conceal_other_teams(results.items, caller)
    by_environment = counts.agent_counts(caller)
    by_environment[WHOLE_FLEET] = counts.total(by_environment)
    context = {
        "results": results,
        "guards": [
            (environment, _current_counts(by_environment.get(environment.name, {})))
            for environment in results.items
        ],
        "only_engaged": only_engaged,
        "policy": policy,
        "percent": round(policy.share * 100),
        "lift_percent": round(policy.lift_share * 100),
        "max_minutes": round(policy.longest.total_seconds() / 60),
        "may_write": caller.verdict(Action.AGENT_WRITE).allowed,
        "curl": curl(request, "GET", "fleet-guards"),
        "cpctl": cpctl("agents", "guards", "list"),
    }
    return render(request, "console/fleet/guards.html", context)


@page
def ruling(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Set the mode of a guard. `?environment=`: empty for the whole fleet. `?ruling=`: preselected mode."""
    caller.require(Action.AGENT_WRITE)
    environment = request.GET.get("environment", "")
    selected = request.GET.get("ruling", "lift")
    row = Environment.objects.filter(name=environment).first() if environment.isprintable() else None
    counts_line = (
        (f"Last count: {row.guard_due_count} of {row.guard_agent_count} agents silent.",) if row else ()
    )
    change = Change(
        f"Override the fleet guard of {environment[:80] or 'the whole fleet'}?",
        (*counts_line, *(f"{mode}: {meaning}" for mode, meaning in _MEANINGS.items())),
        "Override guard",
        reverse("guards"),
        "Fleet guard overridden.",
        (
            Field("ruling", "Mode", value=selected, choices=tuple(_MEANINGS)),
            Field("seconds", "Duration in seconds", "number", value="900"),
            Field("reason", "Reason"),
        ),
        {
            "curl": curl(request, "POST", "fleet-guards:overrule", _body(environment, selected)),
            "cpctl": cpctl(
                "agents", "guards", "overrule", selected, *((environment,) if environment else ())
            ),
        },
        is_destructive=True,
    )

    def act(form: Mapping[str, str]) -> None:
        body = {
            **_body(environment, form.get("ruling", "")),
            "seconds": forms.parse_number(form.get("seconds", "")),
        }
        values = forms.parse_form(FleetGuardRulingWrite, body)
        mode = None if values["ruling"] == "none" else GuardMode(values["ruling"])
        actor = actor_of(caller, form.get("reason", ""))
        set_guard_mode(environment, mode, duration=timedelta(seconds=values["seconds"]), actor=actor)

    return confirm_change(request, change, act)


def _current_counts(states: Mapping[State, int]) -> dict[str, int]:
    """Return the number of agents, and the silent ones among them."""
    return {
        "agents": counts.registered_count(states),
        "unknown": states.get(State.UNKNOWN, 0),
        "unavailable": states.get(State.UNAVAILABLE, 0),
    }


def _body(environment: str, mode: str) -> dict[str, str]:
    return {"environment": environment, "ruling": mode}
