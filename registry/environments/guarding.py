"""Stored fleet guards: judged by each sweep, changed by operators, with an event for each change."""

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
from registry.environments.fleet_guard import Counts, GuardMode, GuardPolicy, GuardState, Verdict, judge
from registry.environments.hearing import HEARD, Hearing
from registry.environments.models import Environment

_ACTOR = system("sweep").name


def environment_id_of(name: str) -> int:
    """Return the id of an environment; create its row if it is missing."""
    environment_id = Environment.objects.filter(name=name).values_list("id", flat=True).first()
    if environment_id is None:
        make_environments({name})
        environment_id = Environment.objects.get(name=name).id
    return environment_id


def make_environments(names: Set[str]) -> None:
    """Create the missing rows of these environments and of the whole fleet."""
    existing_names = Environment.objects.filter(name__in=names).values_list("name", flat=True)
    if missing := names - set(existing_names):
        # In order, so that concurrent inserts of the same rows cannot deadlock.
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
    """Engage and lift guards by the counts of their agents. Needs a transaction.

    ready: False during the grace after an outage; then guards are only lifted where no agent is silent.
    """
    fleet_counts = sum(counts.values(), Counts())
    counts_by_id = {
        environment.id: fleet_counts
        if environment.name == WHOLE_FLEET
        else counts.get(environment.id, Counts())
        for environment in Environment.objects.only("id", "name")
    }
    quiet = Q(guard_engaged_at=None, guard_mode="") & ~Q(
        id__in=[environment_id for environment_id in counts_by_id if counts_by_id[environment_id].expired]
    )
    for environment in Environment.objects.select_for_update().exclude(quiet).order_by("id"):
        if environment.id not in counts_by_id:
            continue
        hearing = hearings.get(environment.id, HEARD)
        verdict = judge(_stored_state(environment), counts_by_id[environment.id], policy, hearing, now=now)
        if ready or (is_engaged(environment) and verdict.silent == 0):
            _store_verdict(environment, verdict, now)


def is_engaged(environment: Environment) -> bool:
    return environment.guard_engaged_at is not None


@transaction.atomic
def set_guard_mode(name: str, mode: GuardMode | None, *, duration: timedelta, actor: Actor) -> Environment:
    """Engage or lift a guard for a duration, regardless of the rule; None makes it automatic again.

    Takes effect at once. `lift` ends with the current incident. Raises UnknownEnvironment.
    """
    rows = Environment.objects.select_for_update().annotate(now=Now())
    environment = rows.filter(name=name).first()
    if environment is None:
        raise UnknownEnvironment(f"No agent is registered in the environment {name[:80]!r}.")
    before = _audit_entry(environment)
    environment.guard_mode = mode.value if mode else ""
    environment.guard_mode_set_at = environment.now if mode else None
    environment.guard_mode_until = environment.now + duration if mode else None
    environment.guard_mode_set_by = actor.name if mode else ""
    environment.save()
    if mode:
        _store_verdict(environment, _operator_verdict(environment, mode), environment.now)
    audit.record(
        GUARD_OVERRULED,
        "fleet_guard",
        name or "*",
        actor=actor,
        before=before,
        after=_audit_entry(environment),
        data={"environment": name, "ruling": environment.guard_mode},
    )
    return environment


def _operator_verdict(environment: Environment, mode: GuardMode) -> Verdict:
    engaged = mode is GuardMode.ENGAGE
    return Verdict(
        engaged,
        f"An operator set the mode to {mode}.",
        environment.guard_due_count,
        environment.guard_agent_count,
        mode,
    )


def _stored_state(environment: Environment) -> GuardState:
    mode = GuardMode(environment.guard_mode) if environment.guard_mode else None
    return GuardState(
        environment.guard_engaged_at, mode, environment.guard_mode_until, environment.guard_mode_set_at
    )


def _store_verdict(environment: Environment, verdict: Verdict, now: datetime) -> None:
    """Store the verdict; append one event if the guard changes."""
    changed = verdict.engaged != is_engaged(environment)
    if changed:
        environment.guard_engaged_at, environment.guard_lifted_at = (
            (now, None) if verdict.engaged else (None, now)
        )
        _announce(environment, verdict)
    if environment.guard_mode and verdict.mode is None:
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


def _audit_entry(environment: Environment) -> dict[str, Any]:
    until = environment.guard_mode_until
    return {"ruling": environment.guard_mode, "ruling_until": until.isoformat() if until else None}
