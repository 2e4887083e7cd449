"""Quotas in Postgres: count what exists, under the lock of the quota's pool.

The rows themselves are counted, not leases of them: however a row goes, its unit is free. What creates
something calls `check` after the insertion, in its transaction: of those that create things at once, each
holds the lock until it commits, so it counts what the others created.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db import connection, transaction
from django.db.models import Exists, Q

from controlplane.access.organisations import of_all_organisations
from controlplane.access.team_models import Team
from controlplane.database.bulk import recordset
from controlplane.database.scoped import as_row
from controlplane.errors import FieldError, InvalidRequest, QuotaExceeded, UnknownPool
from controlplane.pools.ledger import Counts, Ledger, Limits, Obstacle
from controlplane.pools.models import Pool, PoolUsage
from controlplane.pools.quota_rules import (
    PREFIX,
    Added,
    Countable,
    Growth,
    Owner,
    Quota,
    countables,
    find_excess,
    growth_of,
    quota_named,
    sentence,
)
from controlplane.pools.storage import limits_of, lock_pool
from controlplane.scopes import Scope

# Scopes that are counted one by one. For more, one pass over all rows is faster.
_MOST_SINGLE = 50


def is_defined(countable: Countable) -> Exists:
    """Return an expression: whether things of this kind have any quota.

    Part of a query that a creation makes anyway, so that without quotas nothing costs a query.
    """
    name = countable.quota_name
    return Exists(Pool.objects.filter(Q(name=name) | Q(name__startswith=f"{name}:")))


def is_defined_sql(countable: Countable) -> str:
    """Return `is_defined` as SQL."""
    name = countable.quota_name
    return f"EXISTS (SELECT FROM pools_pool WHERE name = '{name}' OR name LIKE '{name}:%%')"


def check(countable: Countable, added: Sequence[Added]) -> None:
    """Raise QuotaExceeded if what this transaction added is more than a quota allows.

    Call it after the insertion. It also keeps the units in use that the pools show.
    """
    for pool in lock(countable, {item.owner for item in added}):
        quota = quota_named(pool.name)
        growth = growth_of(quota, added) if quota else None
        if quota and growth and growth.net:
            limits = limits_of(pool.id, pool.limits_version)
            counts = count_units(quota, _decisive_scopes(limits, growth))
            _store(pool, counts)
            _refuse_excess(pool, quota, limits, counts, growth)


def lock(countable: Countable, owners: Iterable[str]) -> list[Pool]:
    """Lock the quotas that count things of the owners, in the order in which everybody does."""
    names = countable.quota_names(owners)
    rows = Pool.objects.filter(name__in=names, team=None).order_by("name")
    return list(rows.select_for_update(no_key=True))


def _decisive_scopes(limits: Limits, growth: Growth) -> set[Scope]:
    guaranteed = {limit.scope for limit in limits.guaranteed()}
    return {Scope(), *guaranteed, *(scope for scope in growth.net if scope in limits.by_scope)}


def _refuse_excess(
    pool: Pool, quota: Quota, limits: Limits, counts: Mapping[Scope, int], growth: Growth
) -> None:
    excess = find_excess(pool.terms, limits, _ledger(counts), growth)
    if excess is not None:
        raise _exceeded(pool, quota, excess, growth.net[excess.scope])


def _exceeded(pool: Pool, quota: Quota, excess: Obstacle, requested: int) -> QuotaExceeded:
    return QuotaExceeded(
        sentence(quota, pool.name, excess, requested),
        quota=pool.name,
        limit=excess.cap,
        used=excess.used,
        requested=requested,
        scope=excess.scope.segments,
    )


def _ledger(counts: Mapping[Scope, int]) -> Ledger:
    return Ledger({scope: Counts(units) for scope, units in counts.items()})


def ledger_of(quota: Quota, scopes: Collection[Scope]) -> Ledger:
    """Return what exists now at the scopes."""
    return _ledger(count_units(quota, scopes))


def count_units(quota: Quota, scopes: Collection[Scope] | None = None) -> dict[Scope, int]:
    """Return how many units of what the quota counts exist at each scope.

    scopes: None for all down to projects in domains; narrower ones could be as many as there are things.
    """
    rows = f"SELECT * FROM ({quota.countable.rows}) AS existing"  # noqa: S608  (SQL of our own)
    parameters: list[str] = []
    if quota.owner:
        rows, parameters = f"{rows} WHERE owner = %s", [quota.owner]
    if not quota.countable.has_scopes:
        scopes = [Scope()]
    with of_all_organisations():
        if scopes is None:
            return _read(_WIDE.format(rows=rows), parameters)
        if len(scopes) > _MOST_SINGLE:
            counts = _read(_EVERY.format(rows=rows), parameters)
            return {scope: counts.get(scope, 0) for scope in scopes}
        parts = [_count_at(scope, rows, parameters) for scope in sorted(scopes, key=lambda scope: scope.path)]
        statement = " UNION ALL ".join(part for part, _ in parts)
        return _read(statement, [value for _, values in parts for value in values])


def _count_at(scope: Scope, rows: str, parameters: Sequence[str]) -> tuple[str, list[str]]:
    """Return a statement that counts at one scope, for which there may be an index, and its parameters."""
    segments = {name: value for name, value in scope.segments.items() if value}
    condition = " AND ".join(f"{name} = %s" for name in segments) or "true"
    statement = f"SELECT %s, %s, %s, %s, coalesce(sum(units), 0) FROM ({rows}) AS counted WHERE {condition}"  # noqa: S608
    return statement, [*scope.path, *parameters, *segments.values()]


def _read(statement: str, parameters: Sequence[str]) -> dict[Scope, int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, list(parameters))
        return {Scope(*path): int(units) for *path, units in cursor.fetchall()}


def quota_pools() -> list[Pool]:
    return [pool for pool in Pool.objects.filter(name__startswith=PREFIX) if quota_named(pool.name)]


def recount() -> None:
    """Keep the units in use of all quotas, also when things were deleted."""
    for pool in quota_pools():
        quota = quota_named(pool.name)
        if quota and _stored(pool) != _count_shown(pool, quota):
            _recount(pool, quota)


def _count_shown(pool: Pool, quota: Quota) -> dict[Scope, int]:
    """Count at the scopes whose usage the pool shows: the wide ones that use any, and those with a limit."""
    limited = set(limits_of(pool.id, pool.limits_version).by_scope)
    narrow = {scope for scope in limited if scope.workflow}
    counts = count_units(quota) | (count_units(quota, narrow) if narrow else {})
    return {scope: units for scope, units in counts.items() if units}


@transaction.atomic
def _recount(pool: Pool, quota: Quota) -> None:
    try:
        pool = lock_pool(pool.id)
    except UnknownPool:
        return
    counts = _count_shown(pool, quota)
    unused = {scope: 0 for scope in _stored(pool) if scope not in counts}
    _store(pool, {**unused, **counts})


def recount_pool(pool: Pool) -> None:
    """Count what a quota counts, at once, if the pool is one."""
    if quota := quota_named(pool.name):
        _recount(pool, quota)


def _stored(pool: Pool) -> dict[Scope, int]:
    return {row.scope: row.used for row in PoolUsage.objects.filter(pool=pool, used__gt=0)}


def _store(pool: Pool, counts: Mapping[Scope, int]) -> None:
    rows = [{**as_row(scope), "used": units} for scope, units in counts.items()]
    with connection.cursor() as cursor:
        cursor.execute(_STORE, {"pool": pool.id, "rows": recordset(rows)})


def check_quota_name(name: str) -> None:
    """Raise InvalidRequest for a reserved name that is no quota, or one of a team that does not exist."""
    if not name.startswith(PREFIX):
        return
    quota = quota_named(name)
    if quota is None:
        names = ", ".join(_spelling(countable) for countable in countables())
        raise _invalid_name(f"Names that begin with `quota:` are those of quotas: {names}.")
    if (
        quota.owner
        and quota.countable.owner is Owner.TEAM
        and not Team.objects.filter(slug=quota.owner).exists()
    ):
        raise _invalid_name(
            f"There is no team {quota.owner!r} whose {quota.countable.plural} this would limit."
        )


def _spelling(countable: Countable) -> str:
    return (
        f"`{countable.quota_name}[:<{countable.owner}>]`" if countable.owner else f"`{countable.quota_name}`"
    )


def _invalid_name(message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError("path:pool", "no_quota", message)])


# One pass over all rows. A group with an empty segment is a wider scope, which has a group of its own.
_WIDE = """
SELECT coalesce(domain, ''), coalesce(project, ''), '', '', coalesce(sum(units), 0)
  FROM ({rows}) AS counted
 GROUP BY GROUPING SETS ((), (domain), (project), (domain, project))
HAVING (grouping(domain) = 1 OR domain <> '') AND (grouping(project) = 1 OR project <> '')
"""
_EVERY = """
SELECT coalesce(domain, ''), coalesce(project, ''), coalesce(workflow, ''), coalesce(launch_plan, ''),
       coalesce(sum(units), 0)
  FROM ({rows}) AS counted
 GROUP BY GROUPING SETS ((), (domain), (project), (domain, project), (domain, project, workflow),
                         (domain, project, workflow, launch_plan))
HAVING (grouping(domain) = 1 OR domain <> '') AND (grouping(project) = 1 OR project <> '')
   AND (grouping(workflow) = 1 OR workflow <> '') AND (grouping(launch_plan) = 1 OR launch_plan <> '')
"""
_STORE = """
INSERT INTO pools_poolusage AS usage (pool_id, project, domain, workflow, launch_plan, used, waiting)
SELECT %(pool)s, p, d, w, l, used, 0
  FROM json_to_recordset(%(rows)s) AS counted(p text, d text, w text, l text, used bigint)
    ON CONFLICT (pool_id, project, domain, workflow, launch_plan)
    DO UPDATE SET used = excluded.used WHERE usage.used <> excluded.used
"""
