"""Phases of an upgrade, and which migrations may run in them. Pure.

`expand` adds what the previous release can ignore, before any process is replaced. `contract` drops what no
running process uses any more, after all have been.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.members.versions import is_too_old

Key = tuple[str, str]


class Phase(StrEnum):
    """What a migration does. `phase = "contract"` in its class; without it, a migration expands."""

    EXPAND = "expand"
    CONTRACT = "contract"


@dataclass(frozen=True, slots=True)
class Step:
    """A migration that is not applied. unused_since: the first release that does not use what it drops.

    needs: migrations that must be applied before it.
    """

    key: Key
    phase: Phase = Phase.EXPAND
    unused_since: str = ""
    needs: frozenset[Key] = field(default_factory=frozenset)

    @property
    def name(self) -> str:
        return ".".join(self.key)


@dataclass(frozen=True, slots=True)
class Running:
    """A process that runs. name: its kind and instance."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Plan:
    """run: migrations to apply now. waits: contracting ones that do not run, and what needs them.

    in_the_way: by migration, the processes that still use what it drops.
    """

    run: Sequence[Key]
    waits: Sequence[Key]
    in_the_way: Mapping[Key, Sequence[Running]]


def plan(steps: Iterable[Step], processes: Sequence[Running], *, expand_only: bool = False) -> Plan:
    """Decide about migrations in the order in which they would run."""
    run: list[Key] = []
    waits: list[Key] = []
    in_the_way: dict[Key, Sequence[Running]] = {}
    for step in steps:
        users = users_of(step, processes)
        if users:
            in_the_way[step.key] = users
        if users or (expand_only and step.phase is Phase.CONTRACT) or step.needs.intersection(waits):
            waits.append(step.key)
        else:
            run.append(step.key)
    return Plan(run, waits, in_the_way)


def users_of(step: Step, processes: Iterable[Running]) -> list[Running]:
    """Return the processes that may still use what the migration drops."""
    if step.phase is Phase.EXPAND:
        return []
    return [process for process in processes if is_too_old(process.version, step.unused_since)]


def refusal(in_the_way: Mapping[Key, Sequence[Running]]) -> str:
    """Return what an operator must know: which processes keep which migration waiting, and what to do."""
    (key, users), *others = in_the_way.items()
    shown = ", ".join(f"{user.name} ({user.version})" for user in users[:5])
    more = f" and {len(users) - 5} more" if len(users) > 5 else ""
    also = f" So do {len(others)} other migrations." if len(others) > 1 else ""
    also = " So does 1 other migration." if len(others) == 1 else also
    return (
        f"{'.'.join(key)} drops what older processes still use: {shown}{more}.{also} Update or stop them"
        " (a process that was killed counts for a minute), then run `manage.py migrate --phase contract`."
    )
