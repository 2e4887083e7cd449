"""The fleet guards as stored: judged at each sweep, announced when they change, overruled by operators."""

from __future__ import annotations

from collections.abc import Mapping, Set
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.errors import UnknownEnvironment
from controlplane.events import log
from controlplane.identity.actors import Actor, system
from registry.environments.event_types import GUARD_ENGAGED, GUARD_LIFTED, GUARD_OVERRULED
from registry.environments.fleet_guard import Counts, GuardPolicy, GuardState, Ruling, Verdict, judge
from registry.environments.models import FleetGuard
from registry.sweep.evidence import WHOLE_FLEET
from registry.sweep.hearing import HEARD, Hearing

_ACTOR = system("sweep").name


def guard_of(environment: str) -> int:
    """The id of an environment's guard; it is made with the first agent that names it."""
    found = FleetGuard.objects.filter(environment=environment).values_list("id", flat=True).first()
    if found is None:
        make_guards({environment})
        found = FleetGuard.objects.get(environment=environment).id
    return found


def make_guards(environments: Set[str]) -> None:
    """Make the guards that these environments, and the fleet, lack."""
    known = FleetGuard.objects.filter(environment__in=environments).values_list("environment", flat=True)
    if missing := environments - set(known):
        # In order, so that two who make the same ones cannot wait for each other.
        guards = [FleetGuard(environment=one) for one in sorted(missing | {WHOLE_FLEET})]
        FleetGuard.objects.bulk_create(guards, ignore_conflicts=True)


def judge_guards(
    counts: Mapping[int | None, Counts],
    hearings: Mapping[int, Hearing],
    policy: GuardPolicy,
    *,
    ready: bool,
    now: datetime,
) -> None:
    """Engage and lift, by the counts of each guard's agents. Needs a transaction.

    ready: False during the grace after an outage of ours; then guards are only lifted where nobody is silent.
    """
    whole = sum(counts.values(), Counts())
    counted = {
        guard.id: whole if guard.environment == WHOLE_FLEET else counts.get(guard.id, Counts())
        for guard in FleetGuard.objects.only("id", "environment")
    }
    quiet = Q(engaged_at=None, ruling="") & ~Q(id__in=[one for one in counted if counted[one].expired])
    for guard in FleetGuard.objects.select_for_update().exclude(quiet).order_by("id"):
        if guard.id not in counted:
            continue
        hearing = hearings.get(guard.id, HEARD)
        verdict = judge(_state(guard), counted[guard.id], policy, hearing, now=now)
        if ready or (is_engaged(guard) and verdict.silent == 0):
            _follow(guard, verdict, now)


def is_engaged(guard: FleetGuard) -> bool:
    return guard.engaged_at is not None


@transaction.atomic
def overrule(environment: str, ruling: Ruling | None, *, lasting: timedelta, actor: Actor) -> FleetGuard:
    """Engage or lift a guard for a while, whatever the rule says; None lets the rule decide again.

    It takes effect at once. `lift` ends with the incident that it was given in. Raises UnknownEnvironment.
    """
    guards = FleetGuard.objects.select_for_update().annotate(now=Now())
    guard = guards.filter(environment=environment).first()
    if guard is None:
        raise UnknownEnvironment(f"No agent has named the environment {environment[:80]!r}.")
    before = _shown(guard)
    guard.ruling = ruling.value if ruling else ""
    guard.ruled_at = guard.now if ruling else None
    guard.ruling_until = guard.now + lasting if ruling else None
    guard.ruling_by = actor.name if ruling else ""
    guard.save()
    if ruling:
        _follow(guard, _overruled(guard, ruling), guard.now)
    audit.record(
        GUARD_OVERRULED,
        "fleet_guard",
        environment or "*",
        actor=actor,
        before=before,
        after=_shown(guard),
        data={"environment": environment, "ruling": guard.ruling},
    )
    return guard


def _overruled(guard: FleetGuard, ruling: Ruling) -> Verdict:
    engaged = ruling is Ruling.ENGAGE
    return Verdict(engaged, f"An operator said {ruling}.", guard.due_count, guard.agent_count, ruling)


def _state(guard: FleetGuard) -> GuardState:
    ruling = Ruling(guard.ruling) if guard.ruling else None
    return GuardState(guard.engaged_at, ruling, guard.ruling_until, guard.ruled_at)


def _follow(guard: FleetGuard, verdict: Verdict, now: datetime) -> None:
    """Store what was judged; one event when the guard changes."""
    changed = verdict.engaged != is_engaged(guard)
    if changed:
        guard.engaged_at, guard.lifted_at = (now, None) if verdict.engaged else (None, now)
        _announce(guard, verdict)
    if guard.ruling and verdict.ruling is None:
        guard.ruling, guard.ruled_at, guard.ruling_until, guard.ruling_by = "", None, None, ""
        guard.save(update_fields=["ruling", "ruled_at", "ruling_until", "ruling_by"])
    figures = (verdict.silent, verdict.agents, verdict.reason)
    if changed or (verdict.engaged and figures != (guard.due_count, guard.agent_count, guard.reason)):
        guard.due_count, guard.agent_count, guard.reason = figures
        guard.save(update_fields=["engaged_at", "lifted_at", "due_count", "agent_count", "reason"])


def _announce(guard: FleetGuard, verdict: Verdict) -> None:
    log.append(
        GUARD_ENGAGED if verdict.engaged else GUARD_LIFTED,
        "fleet_guard",
        guard.environment or "*",
        data={
            "environment": guard.environment,
            "silent": verdict.silent,
            "agents": verdict.agents,
            "reason": verdict.reason,
        },
        actor=_ACTOR,
    )


def _shown(guard: FleetGuard) -> dict[str, Any]:
    until = guard.ruling_until
    return {"ruling": guard.ruling, "ruling_until": until.isoformat() if until else None}
