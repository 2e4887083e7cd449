"""Summary of the engaged fleet guards, for one banner. Pure except for the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from controlplane.identity.callers import Caller
from registry.environments.evidence import WHOLE_FLEET
from registry.environments.visible import conceal_other_teams, visible_environments


@dataclass(frozen=True, slots=True)
class Silence:
    """Summary of the engaged fleet guards.

    environments: those with an engaged guard, sorted. environment_count: all with a guard. silent, agents:
    counts when the guards engaged, of the whole fleet if that guard is engaged, otherwise summed. reason: of
    a single guard.
    """

    environments: tuple[str, ...]
    environment_count: int
    whole_fleet: bool
    silent: int
    agents: int
    since: datetime
    now: datetime
    reason: str

    @property
    def counts(self) -> str:
        return f"{self.silent:,} of {self.agents:,} agents silent"

    @property
    def place(self) -> str:
        """Describe where the guards are engaged."""
        if not self.environments:
            return "for the whole fleet"
        if len(self.environments) == 1 and not self.whole_fleet:
            return f"in {self.environments[0]}"
        count = len(self.environments)
        whole = " and for the whole fleet" if self.whole_fleet else ""
        return f"in {count} of {self.environment_count} environments{whole}"


def silence(caller: Caller) -> Silence | None:
    """Return the summary for the caller's agents, or None if no guard of theirs is engaged."""
    environments = visible_environments(caller)
    rows = list(environments.exclude(guard_engaged_at=None).annotate(now=Now()).order_by("name"))
    conceal_other_teams(rows, caller)
    return summary(rows, environments.exclude(name=WHOLE_FLEET).count()) if rows else None


def summary(guards: Sequence[Any], environment_count: int) -> Silence:
    """Summarize the engaged guards. environment_count: number of environments with a guard."""
    fleet_guards = [guard for guard in guards if guard.name == WHOLE_FLEET]
    counted_guards = fleet_guards or guards
    return Silence(
        tuple(guard.name for guard in guards if guard.name != WHOLE_FLEET),
        environment_count,
        bool(fleet_guards),
        sum(guard.guard_due_count for guard in counted_guards),
        sum(guard.guard_agent_count for guard in counted_guards),
        min(guard.guard_engaged_at for guard in guards),
        guards[0].now,
        guards[0].guard_reason if len(guards) == 1 else "",
    )
