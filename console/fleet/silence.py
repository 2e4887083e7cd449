"""Engaged fleet guards as one banner, however many environments are silent. Pure but for the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from registry.environments.evidence import WHOLE_FLEET
from registry.environments.models import Environment


@dataclass(frozen=True, slots=True)
class Silence:
    """What the engaged guards say together.

    environments: of the engaged guards, in order. known: of all guards. silent, agents: as the guards
    judged, of the whole fleet if that guard is engaged, else summed up. reason: of the only guard.
    """

    environments: tuple[str, ...]
    known: int
    whole_fleet: bool
    silent: int
    agents: int
    since: datetime
    now: datetime
    reason: str

    @property
    def figures(self) -> str:
        return f"{self.silent:,} of {self.agents:,} agents silent"

    @property
    def place(self) -> str:
        """Where the guards are engaged, in words."""
        if not self.environments:
            return "for the whole fleet"
        if len(self.environments) == 1 and not self.whole_fleet:
            return f"in {self.environments[0]}"
        count = len(self.environments)
        whole = " and for the whole fleet" if self.whole_fleet else ""
        return f"in {count} of {self.known} environments{whole}"


def silence() -> Silence | None:
    """None if no guard is engaged."""
    engaged = Environment.objects.exclude(guard_engaged_at=None).annotate(now=Now()).order_by("name")
    rows = list(engaged)
    return summary(rows, Environment.objects.exclude(name=WHOLE_FLEET).count()) if rows else None


def summary(guards: Sequence[Any], known: int) -> Silence:
    """guards: the engaged ones, at least one. known: how many environments have a guard."""
    whole = [one for one in guards if one.name == WHOLE_FLEET]
    counted = whole or guards
    return Silence(
        tuple(one.name for one in guards if one.name != WHOLE_FLEET),
        known,
        bool(whole),
        sum(one.guard_due_count for one in counted),
        sum(one.guard_agent_count for one in counted),
        min(one.guard_engaged_at for one in guards),
        guards[0].now,
        guards[0].guard_reason if len(guards) == 1 else "",
    )
