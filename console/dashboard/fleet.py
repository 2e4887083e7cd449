"""The caller's agents by environment, with the recently silent ones, for the dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q

from console.dashboard.silent_agents import Fleet, Place, Threshold
from console.fleet.silence import Silence, silence
from controlplane.identity.callers import Caller
from registry.agents.models import Agent
from registry.agents.states import SILENT, State
from registry.environments.policies import guard_policy
from registry.listing import counts
from registry.task_types.models import ServedTaskType

_SILENT = [state.value for state in SILENT]
_WORKING = [State.READY.value, State.CONGESTED.value]


@dataclass(frozen=True, slots=True)
class FleetReading:
    """by_state: agents in each state. silence: summary of the engaged guards, if any is."""

    fleet: Fleet
    by_state: dict[State, int]
    silence: Silence | None


def read_fleet(caller: Caller, begin: datetime) -> FleetReading:
    """Return the caller's agents; recent: silent since `begin`."""
    by_environment = counts.agent_counts(caller)
    engaged = silence(caller)
    guarded = set(engaged.environments) if engaged else set()
    recent = _recently_silent(caller, begin)
    places = tuple(
        _place(name, by_environment.get(name, {}), recent.get(name, (0, None)), is_guarded=name in guarded)
        for name in sorted({*by_environment, *guarded})
    )
    policy = guard_policy()
    fleet = Fleet(
        tuple(place for place in places if place.agents or place.is_guarded),
        bool(engaged and engaged.whole_fleet),
        Threshold(policy.share, policy.least),
    )
    return FleetReading(fleet, counts.total(by_environment), engaged)


def latest_silent(caller: Caller, begin: datetime, count: int) -> list[Agent]:
    """Return the agents that fell silent last, the newest first."""
    rows = Agent.objects.within(caller).filter(state__in=_SILENT, state_since__gte=begin)
    return list(rows.order_by("-state_since", "-name")[:count])


def affected_task_types(caller: Caller, count: int) -> list[Any]:
    """Return task types that silent agents serve: those that no working agent serves first."""
    rows = ServedTaskType.objects.within(caller).values("name")
    counted = rows.annotate(
        silent=Count("agent", filter=Q(agent__state__in=_SILENT)),
        working=Count("agent", filter=Q(agent__state__in=_WORKING)),
    )
    return list(counted.filter(silent__gt=0).order_by("working", "-silent", "name")[:count])


def _recently_silent(caller: Caller, begin: datetime) -> dict[str, tuple[int, datetime | None]]:
    rows = Agent.objects.within(caller).filter(state__in=_SILENT, state_since__gte=begin)
    groups = rows.values_list("environment").annotate(count=Count("pk"), since=Min("state_since"))
    return {name: (count, since) for name, count, since in groups}


def _place(
    name: str, states: dict[State, int], recent: tuple[int, datetime | None], *, is_guarded: bool
) -> Place:
    count, since = recent
    return Place(name, counts.registered_count(states), counts.silent_count(states), count, since, is_guarded)
