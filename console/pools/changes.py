"""Create and change pools and limits, and revoke leases. Each asks first, and shows what happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.forms import parse_form, parse_number
from console.pages import actor_of, page
from controlplane.access.teams.owning_team import choose_team
from controlplane.api.scopes import ScopeWrite, scope_from
from controlplane.endpoints.pools.schemas import LimitWrite, PoolPut, spec_of
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools import leases, limits, pools
from controlplane.pools.models import Pool, PoolLimit
from controlplane.pools.quota_rules import quota_named
from controlplane.scopes import SEGMENTS, Scope

_POOL_EFFECTS = (
    "A lower capacity ends no lease. Nothing more is granted until enough are released.",
    "A higher one serves the queue at once. A closed pool grants nothing.",
)
_QUOTA_EFFECTS = (
    "A lower limit deletes nothing. What would be more is refused until enough is gone.",
    "A closed quota refuses everything new.",
)
# A quota has no leases.
_OF_QUOTAS = frozenset({"capacity", "title", "is_open"})
_REASON = Field("reason", "Reason", hint="Kept in the audit log.")


@page
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.POOL_WRITE)
    change = Change(
        "Create a pool",
        (
            "Programs lease its units, at most as many as its capacity at once.",
            "Waiting requests of projects get free units by weight, which is 100 until you set limits.",
        ),
        "Create pool",
        reverse("pools"),
        "Created the pool.",
        (
            Field(
                "name",
                "Name",
                hint="Such as snowflake or agent-service:default; quota:agents:TEAM for a quota.",
                required=True,
            ),
            *_fields(None),
            Field("team", "Team", hint="Owner of the pool. Empty: the only team that you could give it to."),
            _REASON,
        ),
        {"cpctl": cpctl("pools", "set", "NAME", "--capacity", "20")},
    )
    return confirm_change(request, change, lambda form: _create(caller, form))


@page
def edit(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    pool = pools.get_pool(caller, name, Action.POOL_WRITE)
    change = Change(
        f"Change {pool.name}",
        _QUOTA_EFFECTS if quota_named(pool.name) else _POOL_EFFECTS,
        "Save pool",
        url_of(pool),
        f"Changed {pool.name}.",
        (*_fields(pool), _REASON),
        {"cpctl": cpctl("pools", "set", pool.name, "--capacity", str(pool.capacity))},
    )
    return confirm_change(request, change, lambda form: _edit(caller, pool, form))


@page
def delete(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    pool = pools.get_pool(caller, name, Action.POOL_WRITE)
    usage = pools.usage_of([pool]).get(pool.id)
    used, waiting = (usage.used, usage.waiting) if usage else (0, 0)
    change = Change(
        f"Delete {pool.name}?",
        (
            f"Units in use: {used}. Waiting requests: {waiting}.",
            "Its limits and leases are deleted too. Holders go on until their next renewal fails.",
            "This cannot be undone. To stop granting for a while, close the pool.",
        ),
        "Delete pool",
        reverse("pools"),
        f"Deleted {pool.name}.",
        (Field("force", "Also with leases and waiting requests", kind="checkbox"), _REASON),
        {
            "curl": curl(request, "DELETE", f"pools/{pool.name}", version=pool.version),
            "cpctl": cpctl("pools", "delete", pool.name),
        },
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: pools.delete_pool(
            pool,
            precondition=None,
            force=form.get("force") == "on",
            actor=actor_of(caller, form.get("reason", "")),
        ),
    )


@page
def limit(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    pool = pools.get_pool(caller, name, Action.POOL_WRITE)
    scope = scope_from(parse_form(ScopeWrite, {name: request.GET.get(name, "") for name in SEGMENTS}))
    existing = PoolLimit.objects.at(scope).filter(pool=pool).first()
    change = Change(
        f"Limit of {pool.name}",
        (
            "The strictest cap of all scopes that cover a request holds.",
            "An empty cap or weight is inherited from wider scopes.",
            "A cap below use ends no lease. Nothing more is granted there until enough are released.",
        ),
        "Save limit",
        url_of(pool),
        f"Set the limit of {pool.name}.",
        (*_limit_fields(scope, existing), _REASON),
        {"cpctl": cpctl("pools", "set-limit", pool.name, "-p", scope.project or "PROJECT", "--cap", "10")},
    )
    return confirm_change(request, change, lambda form: _put_limit(caller, pool, form))


@page
def remove_limit(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    pool = pools.get_pool(caller, name, Action.POOL_WRITE)
    scope = scope_from(parse_form(ScopeWrite, {name: request.GET.get(name, "") for name in SEGMENTS}))
    change = Change(
        f"Remove the limit of {pool.name} at {scope}?",
        ("Limits of wider scopes apply from then on.", "Guaranteed units of the scope become free."),
        "Remove limit",
        url_of(pool),
        f"Removed the limit at {scope}.",
        (_REASON,),
        {"cpctl": cpctl("pools", "remove-limit", pool.name, *_scope_options(scope))},
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: limits.delete_limit(
            pool, scope, precondition=None, actor=actor_of(caller, form.get("reason", ""))
        ),
    )


@page
def revoke(request: HttpRequest, caller: Caller, name: str, lease_id: UUID) -> HttpResponse:
    pool = pools.get_pool(caller, name, Action.POOL_WRITE)
    lease = leases.get_lease(caller, pool, lease_id, Action.POOL_WRITE)
    change = Change(
        f"Revoke the lease of {lease.token}?",
        (
            f"It ends now, and the next request in the queue gets its {counted(lease.units, 'unit')}.",
            "Its holder learns of it at the next renewal, and may use the resource until then.",
        ),
        "Revoke lease",
        url_of(pool),
        f"Revoked the lease of {lease.token}.",
        (_REASON,),
        {
            "curl": curl(request, "POST", f"pools/{pool.name}/leases/{lease.id}:revoke"),
            "cpctl": cpctl("pools", "revoke", pool.name, str(lease.id)),
        },
        is_destructive=True,
    )
    return confirm_change(
        request,
        change,
        lambda form: leases.revoke_lease(pool, lease, actor=actor_of(caller, form.get("reason", ""))),
    )


def url_of(pool: Pool) -> str:
    return reverse("pool", args=(pool.name,))


def _fields(pool: Pool | None) -> tuple[Field, ...]:
    fields = _all_fields(pool)
    is_quota = pool is not None and quota_named(pool.name)
    return tuple(field for field in fields if field.name in _OF_QUOTAS) if is_quota else fields


def _all_fields(pool: Pool | None) -> tuple[Field, ...]:
    return (
        Field(
            "capacity",
            "Capacity",
            kind="number",
            hint="Units that may be in use at once.",
            value=str(pool.capacity) if pool else "",
            required=True,
        ),
        Field("unit", "Unit", hint="Such as connection or GPU.", value=pool.unit if pool else ""),
        Field("title", "Title", value=pool.title if pool else ""),
        Field(
            "lease_seconds",
            "Lease, in seconds",
            kind="number",
            hint="For how long a lease lasts unless it is renewed. 0: until it is released.",
            value=str(pool.lease_seconds if pool else 300),
        ),
        Field(
            "is_open",
            "Open",
            kind="select",
            value="yes" if pool is None or pool.is_open else "no",
            choices=("yes", "no"),
        ),
    )


def _limit_fields(scope: Scope, limit: PoolLimit | None) -> tuple[Field, ...]:
    cap, weight = (limit.cap, limit.weight) if limit else (None, None)
    return (
        *(
            Field(name, name.replace("_", " ").capitalize(), value=scope.segments[name])
            for name in ("project", "domain", "workflow", "launch_plan")
        ),
        Field(
            "cap",
            "Cap",
            kind="number",
            hint="Empty: that of wider scopes.",
            value="" if cap is None else str(cap),
        ),
        Field(
            "guaranteed",
            "Guaranteed",
            kind="number",
            hint="Units kept free for this scope.",
            value=str(limit.guaranteed if limit else 0),
        ),
        Field(
            "weight",
            "Weight",
            kind="number",
            hint="1 to 1000. Empty: inherited.",
            value="" if weight is None else str(weight),
        ),
    )


def _written(form: Mapping[str, str]) -> dict[str, Any]:
    return {
        "capacity": parse_number(form.get("capacity", "")),
        "title": form.get("title", ""),
        "is_open": form.get("is_open") == "yes",
        # The form of a quota has neither.
        **({"unit": form["unit"]} if "unit" in form else {}),
        **({"lease_seconds": parse_number(form["lease_seconds"])} if "lease_seconds" in form else {}),
    }


def _create(caller: Caller, form: Mapping[str, str]) -> None:
    body = parse_form(PoolPut, _written(form))
    team = choose_team(caller.owners_for(Action.POOL_WRITE), form.get("team") or None)
    actor = actor_of(caller, form.get("reason", ""))
    pools.create_pool(form.get("name", ""), spec_of(body), team=team, actor=actor)


def _edit(caller: Caller, pool: Pool, form: Mapping[str, str]) -> None:
    kept = {name: getattr(pool, name) for name in pools.FIELDS}
    body = parse_form(PoolPut, {**kept, **_written(form)})
    actor = actor_of(caller, form.get("reason", ""))
    pools.change_pool(pool, spec_of(body), precondition=None, actor=actor)


def _put_limit(caller: Caller, pool: Pool, form: Mapping[str, str]) -> None:
    numbers = {name: parse_number(form[name]) for name in ("cap", "guaranteed", "weight") if form.get(name)}
    body = parse_form(LimitWrite, numbers)
    scope = scope_from(parse_form(ScopeWrite, {name: form.get(name, "") for name in SEGMENTS}))
    spec = limits.LimitSpec(body["cap"], body["guaranteed"], body["weight"])
    actor = actor_of(caller, form.get("reason", ""))
    limits.put_limit(pool, scope, spec, precondition=None, actor=actor)


def _scope_options(scope: Scope) -> list[str]:
    flags = {"project": "-p", "domain": "-d", "workflow": "-w", "launch_plan": "--launch-plan"}
    return [
        word for name, flag in flags.items() if scope.segments[name] for word in (flag, scope.segments[name])
    ]
