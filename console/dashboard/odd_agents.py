"""Checks of single agents: those that return again and again, and those that run twice."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.urls import reverse

from console.dashboard.findings import Check, Finding, Severity, Step
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.flap_damping import is_damped
from registry.agents.instances import SHOWN_FOR
from registry.agents.models import Agent
from registry.agents.states import State

_SUBJECT = "single agents"
_MOST_NAMED = 3


def check_odd_agents(caller: Caller, begin: datetime, now: datetime) -> Check:
    """Check for agents that flapped since `begin`, and for two processes with one name."""
    if not caller.owners_for(Action.AGENT_READ):
        return Check(_SUBJECT, allowed=False, is_named=False)
    agents = Agent.objects.within(caller).exclude(state=State.RETIRED).order_by("name")
    flapping = [agent for agent in agents.filter(flapped_at__gte=begin) if is_damped(agent.flap_penalty)]
    cloned = agents.filter(lease__rival_announced=True, lease__rival_since__gte=now - SHOWN_FOR)
    findings = (
        finding(
            "flaps", "flap", "A damped agent gets no work until it has sent heartbeats for a while.", flapping
        ),
        finding("runs twice", "run twice", "Stop one process, or give it a name of its own.", list(cloned)),
    )
    present = tuple(each for each in findings if each)
    return Check(_SUBJECT, present, passed="No agent flaps or runs twice.")


def finding(one: str, many: str, detail: str, agents: Sequence[Agent]) -> Finding | None:
    """Return the finding of these agents, with links to the first ones; None without agents."""
    if not agents:
        return None
    summary = f"{agents[0].name} {one}" if len(agents) == 1 else f"{len(agents):,} agents {many}"
    steps = tuple(Step(agent.name, reverse("agent", args=[agent.id])) for agent in agents[:_MOST_NAMED])
    return Finding(Severity.WARNING, summary, detail, steps=steps)
