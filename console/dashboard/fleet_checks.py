"""Checks of the fleet: silent agents, engaged guards, and whether states are up to date."""

from __future__ import annotations

from django.db.models.functions import Now
from django.urls import reverse
from django.utils.http import urlencode

from console.dashboard import silent_agents
from console.dashboard.findings import Check, Finding, Severity, Step
from console.dashboard.fleet import FleetReading
from console.dashboard.timeline import TimeRange
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import SweepRecord
from registry.agents.policies import outage_gap

# A sweep runs every few seconds; a worker that restarts misses some.
_MISSED_GAPS = 2


def check_silence(reading: FleetReading | None, period: TimeRange) -> Check:
    """Check for silent agents and engaged fleet guards. reading: None if the caller reads no agents."""
    if reading is None:
        return Check("the fleet", allowed=False)
    passed = "No fleet guard is engaged."
    if reading.silence:
        return Check("the fleet", (_guarded(reading, period),))
    fleet = reading.fleet
    if fleet.recent:
        return Check("the fleet", (_recently_silent(reading, period),))
    if fleet.silent:
        agents = "agent has" if fleet.silent == 1 else "agents have"
        summary = f"{fleet.silent:,} {agents} been silent for longer than the last {period.words}"
        note = Finding(Severity.NOTE, summary, passed, steps=(_silent_agents(None),))
        return Check("the fleet", (note,))
    return Check("the fleet", passed=passed)


def _guarded(reading: FleetReading, period: TimeRange) -> Finding:
    engaged, fleet = reading.silence, reading.fleet
    assert engaged is not None
    names = [place.name for place in fleet.affected]
    place = silent_agents.where(names, len(fleet.places)) if names else "in the whole fleet"
    details = (
        silent_agents.cause(fleet),
        engaged.reason,
        "The fleet guard is engaged: silent agents stay unknown, and their work is not rescheduled.",
    )
    return Finding(
        Severity.PROBLEM,
        engaged.counts if engaged.agents else "Fleet guard engaged",
        " ".join(filter(None, details)),
        engaged.since,
        place,
        (
            Step("Review fleet guards", f"{reverse('guards')}?engaged=1"),
            _silent_agents(period),
        ),
    )


def _recently_silent(reading: FleetReading, period: TimeRange) -> Finding:
    fleet = reading.fleet
    names = [place.name for place in fleet.places if place.recent]
    cause = silent_agents.cause(fleet)
    return Finding(
        Severity.PROBLEM if cause else Severity.WARNING,
        f"{fleet.recent:,} of {fleet.agents:,} agents silent",
        cause,
        fleet.since,
        silent_agents.where(names, len(fleet.places)),
        (_silent_agents(period),),
    )


def _silent_agents(period: TimeRange | None) -> Step:
    since = {"since": period.since} if period else {}
    query = urlencode({"state": "silent", **since, "sort": "-state_since"})
    return Step("Show silent agents", f"{reverse('agents')}?{query}")


def check_sweep(caller: Caller) -> Check:
    """Check that agent states are up to date."""
    if not caller.owners_for(Action.AGENT_READ):
        return Check("agent states", allowed=False, is_named=False)
    record = SweepRecord.objects.filter(id=1).annotate(now=Now()).first()
    if record is None or record.last_sweep_at is None:
        note = Finding(Severity.NOTE, "Agent states have not been checked yet", "No sweep has run.")
        return Check("agent states", (note,))
    if record.now - record.last_sweep_at <= _MISSED_GAPS * outage_gap():
        return Check("agent states", passed="Agent states are up to date.")
    detail = (
        "No sweep has run since then: agents that are silent now still look ready. Check worker and beat."
    )
    may_read = caller.verdict(Action.METRICS_READ).allowed
    steps = (Step("Show status", reverse("status")),) if may_read else ()
    finding = Finding(
        Severity.PROBLEM, "Agent states are not updated", detail, record.last_sweep_at, steps=steps
    )
    return Check("agent states", (finding,))
