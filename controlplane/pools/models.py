"""Pools, their limits by scope, leases, and the units in use at each scope. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.database.scoped import ScopedQuerySet, legal_shape, segment_field
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.ids import uuid7
from controlplane.pools.terms import LIVE, Door, GrantMode, LeaseState, Limit, PoolTerms
from controlplane.scopes import LEVEL_NAMES, Level, Scope

_DOORS = [(door.value, door.value) for door in Door]
_STATES = [(state.value, state.value) for state in LeaseState]
_MODES = [(mode.value, mode.value) for mode in GrantMode]


class PoolQuerySet(models.QuerySet["Pool"]):
    def for_caller(self, caller: Caller, action: Action) -> PoolQuerySet:
        """Return the pools of which the caller may perform the action on leases at some scope.

        Pools of the platform are for roles at any scope; those of a team for roles that are limited to it,
        and for roles at the global scope.
        """
        visible = Q(pk__in=[])
        for grant in caller.grants:
            if action in grant.actions:
                if grant.team is None and grant.scope == Scope():
                    return self
                visible |= Q(team=grant.team.id if grant.team else None)
        return self.filter(visible)


class Pool(models.Model):
    """Units that programs lease. Its row is the only lock of its leases, usage and limits.

    epoch: of the last grant. head: a large request for which the free units may be kept, and since when.
    limits_version: new with each change of the limits, which processes keep in memory. No number: one of a
    transaction that was rolled back would be used again.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=255, unique=True)
    title = models.CharField(max_length=200, blank=True, default="")
    unit = models.CharField(max_length=63, blank=True, default="")
    # NULL: the platform.
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    labels: Any = models.JSONField(default=dict)
    capacity = models.IntegerField()
    max_units_per_lease = models.IntegerField(default=1_000_000)
    lease_seconds = models.IntegerField(default=300)
    max_hold_seconds = models.IntegerField(default=86_400)
    grant_mode = models.CharField(max_length=4, choices=_MODES, default=GrantMode.FAIR.value)
    fair_level = models.CharField(max_length=16, choices=LEVEL_NAMES, default="project")
    queue_limit = models.IntegerField(default=10_000)
    is_open = models.BooleanField(default=True)
    version = models.IntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    # What leasing changes.
    epoch = models.BigIntegerField(db_default=0)
    head_lease_id = models.UUIDField(null=True)
    head_since = models.DateTimeField(null=True)
    mean_hold_seconds = models.FloatField(null=True)
    # The virtual time of turns.
    clock = models.FloatField(db_default=0.0)
    limits_version = models.UUIDField(default=uuid7)
    # Of the last grant, and since when requests have waited without one.
    last_grant_at = models.DateTimeField(null=True)
    starved_since = models.DateTimeField(null=True)

    objects = PoolQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="pool_capacity_is_natural", condition=Q(capacity__gte=0)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def terms(self) -> PoolTerms:
        return PoolTerms(
            self.capacity,
            self.max_units_per_lease,
            self.lease_seconds,
            self.max_hold_seconds,
            GrantMode(self.grant_mode),
            Level[self.fair_level.upper()],
            self.queue_limit,
            self.is_open,
        )


class _AtScope(models.Model):
    """Columns of rows of a pool at a scope."""

    domain = segment_field()
    project = segment_field()
    workflow = segment_field()
    launch_plan = segment_field()

    class Meta:
        abstract = True

    @property
    def scope(self) -> Scope:
        return Scope(self.domain, self.project, self.workflow, self.launch_plan)


class PoolLimit(_AtScope):
    """What a pool promises to a scope."""

    id = models.BigAutoField(primary_key=True)
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="limits", db_index=False)
    cap = models.IntegerField(null=True)
    # Set as an override (overrides/pool_limits.py); the stricter of both holds.
    override_cap = models.IntegerField(null=True)
    guaranteed = models.IntegerField(default=0)
    weight = models.IntegerField(null=True)

    objects = ScopedQuerySet["PoolLimit"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "project", "domain", "workflow", "launch_plan"], name="pool_limit_is_unique"
            ),
            models.CheckConstraint(name="pool_limit_has_a_scope", condition=legal_shape()),
        ]

    def __str__(self) -> str:
        return f"{self.pool_id} at {self.scope}"

    @property
    def terms(self) -> Limit:
        caps = [cap for cap in (self.cap, self.override_cap) if cap is not None]
        return Limit(self.scope, min(caps, default=None), self.guaranteed, self.weight)


class PoolLease(_AtScope):
    """Units that somebody holds or waits for; a while after its end it is deleted.

    key: of scope and token. fair_key: of the scope that competes for units.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="leases", db_index=False)
    key = models.UUIDField()
    fair_key = models.UUIDField()
    token = models.CharField(max_length=512)
    units = models.IntegerField()
    state = models.CharField(max_length=9, choices=_STATES)
    priority = models.SmallIntegerField(db_default=0)
    holder_id = models.UUIDField(null=True)
    door = models.CharField(max_length=5, choices=_DOORS)
    attributes: Any = models.JSONField(default=dict)
    lease_seconds = models.IntegerField()
    epoch = models.BigIntegerField(db_default=0)
    requested_at = models.DateTimeField()
    granted_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = ScopedQuerySet["PoolLease"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "key"],
                condition=Q(state__in=[state.value for state in LIVE]),
                name="pool_token_has_one_lease",
            ),
        ]
        indexes = [
            models.Index(
                fields=["pool", "fair_key", "-priority", "requested_at", "id"],
                condition=Q(state=LeaseState.WAITING.value),
                name="pool_queue",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(state__in=[state.value for state in LIVE]),
                name="pool_lease_expiry",
            ),
            models.Index(fields=["pool", "-id"], name="pool_lease_by_pool"),
            models.Index(fields=["ended_at"], condition=Q(ended_at__isnull=False), name="pool_lease_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.token}: {self.units} of {self.pool_id}, {self.state}"


class PoolUsage(_AtScope):
    """Units in use and requests in the queue at a scope and below it."""

    id = models.BigAutoField(primary_key=True)
    pool = models.ForeignKey(Pool, on_delete=models.CASCADE, related_name="usage", db_index=False)
    used = models.BigIntegerField(default=0)
    # Of a scope that competes: the virtual time at which it is next.
    turn = models.FloatField(db_default=0.0)
    waiting = models.IntegerField(default=0)

    objects = ScopedQuerySet["PoolUsage"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pool", "project", "domain", "workflow", "launch_plan"], name="pool_usage_is_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pool_id} at {self.scope}: {self.used} used, {self.waiting} waiting"


class PoolSweep(models.Model):
    """One row: when the last sweep of leases ran, and since when sweeps have run without a gap.

    drift: units by which counts differed from leases when they last did.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    last_sweep_at = models.DateTimeField(null=True)
    reachable_since = models.DateTimeField(null=True)
    drift = models.BigIntegerField(db_default=0)
    drifted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(name="pool_sweep_is_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"since {self.reachable_since}"
