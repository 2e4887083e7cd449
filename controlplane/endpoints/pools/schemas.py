"""API schemas of pools and their limits."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import ReasonedQuery
from controlplane.api.fields import Flag, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeQuery, ScopeRead, show_scope
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.pools.ledger import Ledger, Obstacle, Reason
from controlplane.pools.models import Pool, PoolLimit, PoolUsage
from controlplane.pools.pools import FIELDS, PoolSpec
from controlplane.pools.quota_rules import quota_named
from controlplane.pools.terms import GrantMode
from controlplane.scopes import LEVEL_NAMES

MOST_UNITS = 2_000_000_000
_LONGEST_SECONDS = 366 * 24 * 3600
GRANT_MODES = [(mode.value, mode.value) for mode in GrantMode]
KINDS = [("pool", "pool"), ("quota", "quota")]
REASONS = [(reason.value, reason.value) for reason in Reason]


class PoolWrite(StrictSerializer):
    capacity = Whole(min_value=0, max_value=MOST_UNITS, help_text="Units that may be in use at once.")
    title = Text(required=False, default="", allow_blank=True, max_length=200)
    unit = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=63,
        help_text="What a unit is, such as `connection` or `GPU`.",
    )
    labels = serializers.DictField(child=Text(max_length=255, allow_blank=True), required=False, default=dict)
    max_units_per_lease = Whole(required=False, default=1_000_000, min_value=1, max_value=MOST_UNITS)
    lease_seconds = Whole(
        required=False,
        default=300,
        min_value=0,
        max_value=_LONGEST_SECONDS,
        help_text="For how long a lease lasts unless it is renewed. 0: until it is released.",
    )
    max_hold_seconds = Whole(
        required=False,
        default=86_400,
        min_value=0,
        max_value=_LONGEST_SECONDS,
        help_text="For how long a lease lasts at most, however often it is renewed. 0: for ever.",
    )
    grant_mode = serializers.ChoiceField(
        GRANT_MODES,
        required=False,
        default="fair",
        help_text="`fair`: the scope that uses the least for its weight is next. `fifo`: the oldest request. "
        "`free`: no queue; the next request that comes.",
    )
    fair_level = serializers.ChoiceField(
        LEVEL_NAMES, required=False, default="project", help_text="The level at which scopes share the units."
    )
    queue_limit = Whole(required=False, default=10_000, min_value=0, max_value=100_000)
    is_open = Flag(required=False, default=True, help_text="False: it grants nothing. Leases stay.")


class PoolPut(PoolWrite):
    team = Text(
        required=False,
        allow_null=True,
        max_length=63,
        help_text="Team that owns a new pool. If omitted: the only team that you could give it to.",
    )


class PoolListQuery(PageQuery):
    name_contains = serializers.CharField(
        required=False, max_length=255, help_text="Filter by a part of the name."
    )
    kind = serializers.ChoiceField(KINDS, required=False, help_text="Pools that programs lease, or quotas.")
    q = SearchField("name", "title", "unit")
    sort = SortField(SortKeys.of("name", "title", "capacity", "created_at", tie_break="name"), default="name")


class PoolRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.ChoiceField(
        KINDS, help_text="`quota`: it counts things that exist, such as agents, and has no leases."
    )
    title = serializers.CharField(allow_blank=True)
    unit = serializers.CharField(allow_blank=True)
    team = serializers.CharField(allow_null=True, help_text="Null for the platform.")
    labels = serializers.DictField(child=serializers.CharField())
    capacity = serializers.IntegerField()
    used = serializers.IntegerField(help_text="Units in use now.")
    waiting = serializers.IntegerField(help_text="Requests in the queue.")
    over_capacity = serializers.BooleanField(
        help_text="More units are in use than the capacity, which was lowered. Nothing is granted until then."
    )
    exhausted_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when requests wait of which none was granted for a minute."
    )
    max_units_per_lease = serializers.IntegerField()
    lease_seconds = serializers.IntegerField()
    max_hold_seconds = serializers.IntegerField()
    grant_mode = serializers.ChoiceField(GRANT_MODES)
    fair_level = serializers.ChoiceField(LEVEL_NAMES)
    queue_limit = serializers.IntegerField()
    is_open = serializers.BooleanField()
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class PoolPage(serializers.Serializer[Any]):
    items = PoolRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class PoolDeletionQuery(ReasonedQuery):
    force = serializers.BooleanField(
        required=False, default=False, help_text="Delete it also with leases and waiting requests."
    )


class LimitWrite(StrictSerializer):
    cap = Whole(
        required=False,
        default=None,
        allow_null=True,
        min_value=0,
        max_value=MOST_UNITS,
        help_text="Units that the scope may use. The strictest cap of all scopes that cover a request holds.",
    )
    guaranteed = Whole(
        required=False,
        default=0,
        min_value=0,
        max_value=MOST_UNITS,
        help_text="Units that are kept for the scope, at the pool's `fair_level`.",
    )
    weight = Whole(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        max_value=1000,
        help_text="Share of the units among scopes that wait. Null: of the next wider scope, else 100.",
    )


class LimitQuery(ScopeQuery, ReasonedQuery):
    """A scope, and the parameters of every mutation."""


class LimitRead(serializers.Serializer[Any]):
    scope = ScopeRead()
    cap = serializers.IntegerField(allow_null=True)
    override_cap = serializers.IntegerField(
        allow_null=True, help_text="Set as an override of the type `pool_limits`. The stricter of both holds."
    )
    guaranteed = serializers.IntegerField()
    weight = serializers.IntegerField(allow_null=True)
    used = serializers.IntegerField(help_text="Units in use at the scope and below it.")
    waiting = serializers.IntegerField()
    is_exceeded = serializers.BooleanField(help_text="More units are in use than the cap.")


class LimitPage(serializers.Serializer[Any]):
    items = LimitRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class UsageQuery(PageQuery):
    by = serializers.ChoiceField(
        LEVEL_NAMES, required=False, default="project", help_text="The level of the scopes."
    )


class UsageRead(serializers.Serializer[Any]):
    scope = ScopeRead()
    used = serializers.IntegerField()
    waiting = serializers.IntegerField()


class UsagePage(serializers.Serializer[Any]):
    items = UsageRead(many=True, help_text="Those that use most come first.")
    next_cursor = serializers.CharField(allow_null=True)


class ObstacleRead(serializers.Serializer[Any]):
    scope = ScopeRead()
    reason = serializers.ChoiceField(
        REASONS,
        help_text="`capacity`: all units are in use. `guaranteed`: the rest is guaranteed to other scopes. "
        "`cap`: of the scope. `closed`: the pool grants nothing. `queue`: others are served first.",
    )
    cap = serializers.IntegerField(help_text="Units that the scope may use now.")
    used = serializers.IntegerField()


def spec_of(body: dict[str, Any]) -> PoolSpec:
    """Return what a body of PoolWrite says."""
    return PoolSpec(**{name: body[name] for name in FIELDS})


def show_pool(pool: Pool, usage: PoolUsage | None) -> dict[str, Any]:
    used, waiting = (usage.used, usage.waiting) if usage else (0, 0)
    return {
        "name": pool.name,
        "kind": "quota" if quota_named(pool.name) else "pool",
        "team": pool.team.slug if pool.team else None,
        "used": used,
        "waiting": waiting,
        "over_capacity": used > pool.capacity,
        "exhausted_since": pool.starved_since,
        "version": pool.version,
        "created_at": pool.created_at,
        **{name: getattr(pool, name) for name in FIELDS},
    }


def show_limit(limit: PoolLimit, ledger: Ledger) -> dict[str, Any]:
    used, cap = ledger.used(limit.scope), limit.terms.cap
    return {
        "scope": show_scope(limit.scope),
        "cap": limit.cap,
        "override_cap": limit.override_cap,
        "guaranteed": limit.guaranteed,
        "weight": limit.weight,
        "used": used,
        "waiting": ledger.waiting(limit.scope),
        "is_exceeded": cap is not None and used > cap,
    }


def show_usage(row: PoolUsage) -> dict[str, Any]:
    return {"scope": show_scope(row.scope), "used": row.used, "waiting": row.waiting}


def show_obstacle(obstacle: Obstacle) -> dict[str, Any]:
    return {
        "scope": show_scope(obstacle.scope),
        "reason": obstacle.reason.value,
        "cap": obstacle.cap,
        "used": obstacle.used,
    }
