"""The list of pools, and the page of one pool."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.listing import Column, read_listing
from console.pages import load_page, page
from controlplane.database.clock import database_now
from controlplane.database.scoped import within
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools.leases import names_of, places_of, usage_by, visible_leases
from controlplane.pools.models import Pool, PoolLimit, PoolUsage
from controlplane.pools.pools import get_pool, of_kind, usage_now, usage_of, visible_pools
from controlplane.pools.quota_rules import Quota, countables, quota_named
from controlplane.pools.storage import read_ledger
from controlplane.pools.terms import LeaseState

_MOST_ROWS = 25
_POOL_COLUMNS = (
    Column("name", "Name", "medium", order=("name",), is_optional=False),
    Column("title", "Title"),
    Column("state", "State", "medium"),
    Column("use", "Units in use", "wide"),
    Column("waiting", "Waiting", "tiny", is_number=True),
    Column("unit", "Unit", "narrow"),
    Column("team", "Team", "narrow"),
)
_QUOTA_COLUMNS = (
    Column("name", "Name", "medium", order=("name",), is_optional=False),
    Column("state", "State", "medium"),
    Column("use", "In use", "wide"),
    Column("title", "Counts"),
)


@dataclass(frozen=True, slots=True)
class Bar:
    """Units in use of those that there are."""

    used: int
    capacity: int
    waiting: int

    @property
    def text(self) -> str:
        return f"{self.used} of {self.capacity} units in use"

    @property
    def is_over(self) -> bool:
        return self.used > self.capacity

    @property
    def is_full(self) -> bool:
        return self.used >= self.capacity > 0


@page
def pools(request: HttpRequest, caller: Caller) -> HttpResponse:
    kind = "quota" if request.GET.get("kind") == "quota" else "pool"
    rows = of_kind(visible_pools(caller), kind)
    listing = (
        read_listing(request, "quotas", "Quotas", _QUOTA_COLUMNS, sort="name")
        if kind == "quota"
        else read_listing(request, "pools", "Pools", _POOL_COLUMNS, sort="name")
    )
    results = load_page(request, caller, rows, order=listing.order)
    usage = usage_of(results.items)
    context = {
        "listing": listing,
        "results": results,
        "kind": kind,
        "countables": countables(),
        "pools": [
            (pool, bar, state_of(pool, bar))
            for pool in results.items
            for bar in (_bar(pool, usage.get(pool.id)),)
        ],
        "may_write": bool(caller.owners_for(Action.POOL_WRITE)),
        "now": database_now(),
        "copies": {"curl": curl(request, "GET", "pools"), "cpctl": cpctl("pools", "list", "--kind", kind)},
    }
    return render(request, "console/pools/pools.html", context)


@page
def pool(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    record = get_pool(caller, name)
    if quota := quota_named(record.name):
        return _quota(request, caller, record, quota)
    leases = visible_leases(caller, record)
    waiting = list(leases.filter(state=LeaseState.WAITING.value).order_by("requested_at")[:_MOST_ROWS])
    held = list(leases.filter(state=LeaseState.GRANTED.value).order_by("granted_at")[:_MOST_ROWS])
    places = places_of(record, waiting)
    names = names_of(lease.holder_id for lease in (*waiting, *held))
    bar = _bar(record, usage_of([record]).get(record.id))
    context = {
        "pool": record,
        "state": state_of(record, bar),
        "bar": bar,
        "usage": usage_by(caller, record, record.terms.fair_level)[:_MOST_ROWS],
        "limits": _limits(caller, record),
        "waiting": [(lease, places.get(lease.id), names.get(lease.holder_id)) for lease in waiting],
        "held": [(lease, names.get(lease.holder_id)) for lease in held],
        "may_write": caller.verdict(Action.POOL_WRITE, owner=record.team_id).allowed,
        "now": database_now(),
        "copies": {
            "curl": curl(request, "GET", f"pools/{record.name}"),
            "cpctl": cpctl("pools", "show", record.name),
        },
    }
    return render(request, "console/pools/pool.html", context)


def _quota(request: HttpRequest, caller: Caller, pool: Pool, quota: Quota) -> HttpResponse:
    """Return the page of a quota, which has no leases and no queue."""
    bar, has_scopes = _bar(pool, usage_now(pool)), quota.countable.has_scopes
    context = {
        "pool": pool,
        "quota": quota,
        "state": state_of(pool, bar),
        "bar": bar,
        "usage": usage_by(caller, pool, pool.terms.fair_level)[:_MOST_ROWS]
        if quota.countable.has_scopes
        else (),
        "limits": _limits(caller, pool) if has_scopes else (),
        "may_write": caller.verdict(Action.POOL_WRITE, owner=pool.team_id).allowed,
        "copies": {
            "curl": curl(request, "GET", f"pools/{pool.name}"),
            "cpctl": cpctl("pools", "show", pool.name),
        },
    }
    return render(request, "console/pools/quota.html", context)


def state_of(pool: Pool, bar: Bar) -> str:
    """Return in one word how a pool is."""
    if not pool.is_open:
        return "closed"
    if pool.starved_since:
        return "exhausted"
    return "full" if bar.is_full else "open"


def _bar(pool: Pool, usage: PoolUsage | None) -> Bar:
    return Bar(usage.used if usage else 0, pool.capacity, usage.waiting if usage else 0)


def _limits(caller: Caller, pool: Pool) -> list[tuple[PoolLimit, Bar]]:
    """Return the limits that the caller may read, with what their scopes use."""
    scopes = caller.scopes_for(Action.POOL_READ, owner=pool.team_id)
    limits = list(PoolLimit.objects.filter(within(scopes), pool=pool).order_by("id")[:_MOST_ROWS])
    ledger = read_ledger(pool.id, {limit.scope for limit in limits})
    return [
        (
            limit,
            Bar(
                ledger.used(limit.scope),
                pool.capacity if limit.terms.cap is None else limit.terms.cap,
                ledger.waiting(limit.scope),
            ),
        )
        for limit in limits
    ]
