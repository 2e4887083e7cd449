"""Quotas: pools with a reserved name, whose units in use are the things that exist. Pure.

`quota:agents` limits all agents of the installation, `quota:agents:ml` those of the team `ml`. Limits of
scopes apply to things that have a scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.pools.ledger import Ledger, Limits, Obstacle, Reason, find_obstacles
from controlplane.pools.terms import PoolTerms
from controlplane.scopes import Scope

PREFIX = "quota:"


class Owner(StrEnum):
    """Whose things a quota can count apart from those of others."""

    TEAM = "team"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Countable:
    """A kind of things that quotas count.

    rows: SQL for those that exist, with the columns owner (the name of the team or environment, in lower
    case, or NULL), domain, project, workflow, launch_plan and units. next_step: what makes room.
    """

    name: str
    plural: str
    rows: str
    next_step: str
    unit: str
    owner: Owner | None = None
    has_scopes: bool = False

    @property
    def quota_name(self) -> str:
        """The name of the quota of the whole installation."""
        return f"{PREFIX}{self.name}"

    def quota_names(self, owners: Iterable[str]) -> list[str]:
        """Return the names of all quotas that may count things of the owners."""
        return sorted({self.quota_name, *(f"{self.quota_name}:{owner.lower()}" for owner in owners if owner)})


@dataclass(frozen=True, slots=True)
class Quota:
    """owner: of the things that it counts; empty: all things of the installation."""

    countable: Countable
    owner: str = ""

    @property
    def title(self) -> str:
        plural = self.countable.plural[0].upper() + self.countable.plural[1:]
        return f"{plural} of the {self.countable.owner} {self.owner}" if self.owner else plural

    def counts(self, added: Added) -> bool:
        return not self.owner or added.owner.lower() == self.owner


@dataclass(frozen=True, slots=True)
class Added:
    """Things that a transaction creates, with their owner and scope; with negative units, that it removes."""

    owner: str = ""
    scope: Scope = Scope()
    units: int = 1


_countables: dict[str, Countable] = {}


def declare(countable: Countable) -> Countable:
    """Let quotas count things of this kind."""
    _countables[countable.name] = countable
    return countable


def countables() -> list[Countable]:
    return sorted(_countables.values(), key=lambda countable: countable.name)


def quota_named(pool_name: str) -> Quota | None:
    """Return the quota that a pool with this name is; None for an ordinary pool."""
    name, _, owner = pool_name.removeprefix(PREFIX).partition(":")
    countable = _countables.get(name) if pool_name.startswith(PREFIX) else None
    if countable is None or (owner and countable.owner is None):
        return None
    return Quota(countable, owner)


@dataclass(frozen=True, slots=True)
class Growth:
    """What a transaction adds to a quota. net: by how much each scope grows; scopes: of the new things."""

    net: Mapping[Scope, int]
    scopes: frozenset[Scope]


def growth_of(quota: Quota, added: Iterable[Added]) -> Growth:
    """Return by how much each scope grows, of what the quota counts; only those that do."""
    counted = [item for item in added if quota.counts(item)]
    net: dict[Scope, int] = {}
    for item in counted:
        for rung in item.scope.ladder():
            net[rung] = net.get(rung, 0) + item.units
    growing = {scope: units for scope, units in net.items() if units > 0}
    return Growth(growing, frozenset(item.scope for item in counted if item.units > 0))


def find_excess(terms: PoolTerms, limits: Limits, ledger: Ledger, growth: Growth) -> Obstacle | None:
    """Return the limit that the growth exceeds, with what was in use before; None if it fits.

    ledger: of what is in use with the growth. A scope above its limit that does not grow is no reason.
    """
    for scope in sorted(growth.scopes, key=lambda scope: scope.path):
        for obstacle in find_obstacles(terms, limits, ledger, scope, 0):
            if (grown := growth.net.get(obstacle.scope, 0)) > 0:
                return replace(obstacle, used=obstacle.used - grown)
    return None


def sentence(quota: Quota, name: str, obstacle: Obstacle, requested: int) -> str:
    """Return why the quota refuses so many more things, and what to do."""
    plural, used, cap = quota.countable.plural, obstacle.used, obstacle.cap
    place = "" if obstacle.scope == Scope() else f" at {obstacle.scope}"
    ask = f"{quota.countable.next_step} Or ask an operator to raise the quota."
    if obstacle.reason is Reason.CLOSED:
        return f"The quota {name} is closed: it allows no more {plural}. Ask an operator to open the quota."
    if obstacle.reason is Reason.GUARANTEED:
        return f"The quota {name} counts {used} {plural}, and guarantees all but {cap} to other scopes. {ask}"
    exist = f"{used} of {cap} {plural} exist{place}"
    return f"This would exceed the quota {name}: {exist}, and {requested} more would be created. {ask}"
