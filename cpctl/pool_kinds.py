"""Kinds of objects related to pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpctl.columns import SCOPE, Kind, field, timestamp
from cpctl.output import Column, counted
from cpctl.scopes import scope_text


def pool_state(pool: Mapping[str, Any]) -> str:
    """Return in one word how a pool is."""
    if not pool["is_open"]:
        return "closed"
    if pool["over_capacity"]:
        return "over capacity"
    if pool["exhausted_since"]:
        return "exhausted"
    return "full" if pool["used"] >= pool["capacity"] else "open"


POOL = Kind(
    "pools",
    "pools",
    (
        field("NAME"),
        field("KIND"),
        field("USED"),
        field("CAPACITY"),
        field("WAITING"),
        field("UNIT"),
        Column("STATE", pool_state),
        field("MODE", "grant_mode", wide=True),
        field("TEAM", wide=True),
        field("LEASE SECONDS", "lease_seconds", wide=True),
        field("TITLE", wide=True),
    ),
    ("pool",),
    object_type="pool",
)
LEASES = (
    field("ID"),
    field("TOKEN"),
    SCOPE,
    field("UNITS"),
    field("STATE"),
    field("HOLDER"),
    timestamp("GRANTED AT", "granted_at"),
    timestamp("EXPIRES AT", "expires_at"),
    field("EPOCH", wide=True),
    field("PRIORITY", wide=True),
    field("DOOR", wide=True),
    timestamp("REQUESTED AT", "requested_at", wide=True),
)
LIMITS = (
    SCOPE,
    field("CAP"),
    field("OVERRIDE CAP", "override_cap"),
    field("GUARANTEED"),
    field("WEIGHT"),
    field("USED"),
    field("WAITING"),
    field("EXCEEDED", "is_exceeded", wide=True),
)
USAGE = (SCOPE, field("USED"), field("WAITING"))
LADDER = (
    SCOPE,
    field("CAP"),
    field("GUARANTEED"),
    field("WEIGHT"),
    field("USED"),
    field("WAITING"),
    field("LEAVES ROOM", "leaves_room"),
)
NAMESPACE_QUOTAS = (
    field("NAMESPACE QUOTA", "name"),
    field("VALUE"),
    Column("SET AT", lambda quota: scope_text(quota["scope"]) if quota["scope"] else "platform default"),
)
_WRITTEN = (
    *("capacity", "title", "unit", "labels", "max_units_per_lease", "lease_seconds", "max_hold_seconds"),
    *("grant_mode", "fair_level", "queue_limit", "is_open"),
)


def pool_fields(pool: dict[str, Any]) -> dict[str, Any]:
    """Return what people write of a pool, for a PUT."""
    return {name: pool[name] for name in _WRITTEN if name in pool}


def sentence(obstacle: dict[str, Any]) -> str:
    """Return why a limit leaves no room."""
    used, cap = obstacle["used"], obstacle["cap"]
    return {
        "closed": "The pool is closed.",
        "capacity": f"{used} of {counted(cap, 'unit')} in use.",
        "guaranteed": f"{counted(used, 'unit is', 'units are')} in use, and all but {cap} are guaranteed to "
        "other scopes.",
        "cap": f"{scope_text(obstacle['scope'])} uses {used} of the {cap} units of its cap.",
        "queue": "Requests that wait already are served first.",
    }[str(obstacle["reason"])]
