"""Caps of pools that are set as overrides of the operators' type `pool_limits`.

Each override makes a cap at its own scope, and the pool takes the strictest of all levels.
Who may write overrides of a scope can limit it, and nobody else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from controlplane.errors import UnknownPool
from controlplane.identity.actors import system
from controlplane.pools.limits import set_override_caps
from controlplane.pools.models import Pool, PoolLimit
from controlplane.scopes import Scope
from overrides.models import Override

RESOURCE_TYPE = "pool_limits"
_ACTOR = system("overrides")


def follow_overrides() -> int:
    """Have the caps of pools agree with the overrides; return how many changed. Safe in any number."""
    wanted, actual = _wanted(), _actual()
    changed = 0
    for pool_id in wanted.keys() | actual.keys():
        caps = _difference(wanted.get(pool_id, {}), actual.get(pool_id, {}))
        if caps:
            try:
                set_override_caps(pool_id, caps, actor=_ACTOR)
            except UnknownPool:  # deleted meanwhile, with its limits
                continue
            changed += len(caps)
    return changed


def _difference(wanted: Mapping[Scope, int], actual: Mapping[Scope, int]) -> dict[Scope, int | None]:
    """Return the cap of each scope whose cap must change; None: no cap any more. Pure."""
    return {
        scope: wanted.get(scope)
        for scope in wanted.keys() | actual.keys()
        if wanted.get(scope) != actual.get(scope)
    }


def _wanted() -> dict[UUID, dict[Scope, int]]:
    """Return the caps of the overrides, by pool. Names of pools that do not exist have no effect."""
    rows = [
        (name, override.scope, cap)
        for override in Override.objects.filter(resource_type=RESOURCE_TYPE)
        for name, cap in _caps_in(override.attributes)
    ]
    ids = dict(Pool.objects.filter(name__in={name for name, _, _ in rows}).values_list("name", "id"))
    caps: defaultdict[UUID, dict[Scope, int]] = defaultdict(dict)
    for name, scope, cap in rows:
        if name in ids:
            caps[ids[name]][scope] = cap
    return caps


def _caps_in(attributes: Any) -> list[tuple[str, int]]:
    """Return names and caps. Operators may have changed the type: what is no cap has no effect. Pure."""
    entries = attributes.get("pools") if isinstance(attributes, dict) else None
    return [
        (entry["name"], entry["cap"])
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get("cap"), int)
        and not isinstance(entry["cap"], bool)
        and 0 <= entry["cap"] < 2**31
    ]


def _actual() -> dict[UUID, dict[Scope, int]]:
    caps: defaultdict[UUID, dict[Scope, int]] = defaultdict(dict)
    for limit in PoolLimit.objects.exclude(override_cap=None):
        caps[limit.pool_id][limit.scope] = int(limit.override_cap or 0)
    return caps
