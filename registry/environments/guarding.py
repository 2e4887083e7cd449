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
from registry.environments.evidence import WHOLE_FLEET
from registry.environments.fleet_guard import Counts, GuardPolicy, GuardState, Ruling, Verdict, judge
from registry.environments.hearing import HEARD, Hearing
from registry.environments.models import Environment

_ACTOR = system("sweep").name


def environment_id_of(name: str) -> int:
    """The id of an environment; its row is created with the first agent that names it."""
    found = Environment.objects.filter(name=name).values_list("id", flat=True).first()
    if found is None:
        make_environments({name})
        found = Environment.objects.get(name=name).id
    return found


def make_environments(names: Set[str]) -> None:
    """Create the rows that these environments, and the whole fleet, lack."""
    known = Environment.objects.filter(name__in=names).values_list("name", flat=True)
    if missing := names - set(known):
        # In order, so that two who make the same ones cannot wait for each other.
        rows = [Environment(name=name) for name in sorted(missing | {WHOLE_FLEET})]
        Environment.objects.bulk_create(rows, ignore_conflicts=True)


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
        environment.id: whole if environment.name == WHOLE_FLEET else counts.get(environment.id, Counts())
        for environment in Environment.objects.only("id", "name")
    }
    quiet = Q(guard_engaged_at=None, guard_mode="") & ~Q(
        id__in=[one for one in counted if counted[one].expired]
    )
    for environment in Environment.objects.select_for_update().exclude(quiet).order_by("id"):
        if environment.id not in counted:
            continue
        hearing = hearings.get(environment.id, HEARD)
        verdict = judge(_state(environment), counted[environment.id], policy, hearing, now=now)
        if ready or (is_engaged(environment) and verdict.silent == 0):
            _follow(environment, verdict, now)


def is_engaged(environment: Environment) -> bool:
    return environment.guard_engaged_at is not None


@transaction.atomic
def overrule(name: str, ruling: Ruling | None, *, lasting: timedelta, actor: Actor) -> Environment:
    """Engage or lift a guard for a while, whatever the rule says; None lets the rule decide again.

    It takes effect at once. `lift` ends with the incident that it was given in. Raises UnknownEnvironment.
    """
    rows = Environment.objects.select_for_update().annotate(now=Now())
    environment = rows.filter(name=name).first()
    if environment is None:
        raise UnknownEnvironment(f"No agent has named the environment {name[:80]!r}.")
    before = _shown(environment)
    environment.guard_mode = ruling.value if ruling else ""
    environment.guard_mode_set_at = environment.now if ruling else None
    environment.guard_mode_until = environment.now + lasting if ruling else None
    environment.guard_mode_set_by = actor.name if ruling else ""
    environment.save()
    if ruling:
        _follow(environment, _overruled(environment, ruling), environment.now)
    audit.record(
        GUARD_OVERRULED,
        "fleet_guard",
        name or "*",
        actor=actor,
        before=before,
        after=_shown(environment),
        data={"environment": name, "ruling": environment.guard_mode},
    )
    return environment


def _overruled(environment: Environment, ruling: Ruling) -> Verdict:
    engaged = ruling is Ruling.ENGAGE
    return Verdict(
        engaged,
        f"An operator said {ruling}.",
        environment.guard_due_count,
        environment.guard_agent_count,
        ruling,
    )


def _state(environment: Environment) -> GuardState:
    ruling = Ruling(environment.guard_mode) if environment.guard_mode else None
    return GuardState(
        environment.guard_engaged_at, ruling, environment.guard_mode_until, environment.guard_mode_set_at
    )


def _follow(environment: Environment, verdict: Verdict, now: datetime) -> None:
    """Store what was judged; one event when the guard changes."""
    changed = verdict.engaged != is_engaged(environment)
    if changed:
        environment.guard_engaged_at, environment.guard_lifted_at = (
            (now, None) if verdict.engaged else (None, now)
        )
        _announce(environment, verdict)
    if environment.guard_mode and verdict.ruling is None:
        (
            environment.guard_mode,
            environment.guard_mode_set_at,
            environment.guard_mode_until,
            environment.guard_mode_set_by,
        ) = "", None, None, ""
        environment.save(
            update_fields=["guard_mode", "guard_mode_set_at", "guard_mode_until", "guard_mode_set_by"]
        )
    figures = (verdict.silent, verdict.agents, verdict.reason)
    if changed or (
        verdict.engaged
        and figures != (environment.guard_due_count, environment.guard_agent_count, environment.guard_reason)
    ):
        environment.guard_due_count, environment.guard_agent_count, environment.guard_reason = figures
        environment.save(
            update_fields=[
                "guard_engaged_at",
                "guard_lifted_at",
                "guard_due_count",
                "guard_agent_count",
                "guard_reason",
            ]
        )


def _announce(environment: Environment, verdict: Verdict) -> None:
    log.append(
        GUARD_ENGAGED if verdict.engaged else GUARD_LIFTED,
        "fleet_guard",
        environment.name or "*",
        data={
            "environment": environment.name,
            "silent": verdict.silent,
            "agents": verdict.agents,
            "reason": verdict.reason,
        },
        actor=_ACTOR,
    )


def _shown(environment: Environment) -> dict[str, Any]:
    until = environment.guard_mode_until
    return {"ruling": environment.guard_mode, "ruling_until": until.isoformat() if until else None}
