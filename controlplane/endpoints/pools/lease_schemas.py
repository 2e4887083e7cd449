"""API schemas of leases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rest_framework import serializers

from controlplane.api.endpoints import MutationQuery, ReasonedQuery
from controlplane.api.fields import Flag, Query, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeQuery, ScopeRead, ScopeWrite, show_scope
from controlplane.endpoints.pools.schemas import MOST_UNITS, ObstacleRead
from controlplane.pools.leases import Place
from controlplane.pools.models import PoolLease
from controlplane.pools.terms import MAX_TOKEN_LENGTH, Door, Lease, LeaseState

LEASE_STATES = [(state.value, state.value) for state in LeaseState]
DOORS = [(door.value, door.value) for door in Door]
MAX_WAIT_SECONDS = 60
_LONGEST_SECONDS = 366 * 24 * 3600
MOST_OPERATIONS = 1_000


class LeaseRequest(StrictSerializer):
    token = Text(
        max_length=MAX_TOKEN_LENGTH,
        help_text="Names your work at the scope. The same token gets the same lease, so retries are safe.",
    )
    scope = ScopeWrite(required=False, help_text="Where the work belongs.")
    units = Whole(required=False, default=1, min_value=1, max_value=MOST_UNITS)
    lease_seconds = Whole(
        required=False,
        min_value=0,
        max_value=_LONGEST_SECONDS,
        help_text="Omitted: the pool's. 0: until released. Of a lease that you have already: renew it.",
    )
    priority = Whole(
        required=False, default=0, min_value=0, max_value=100, help_text="Within the queue of your scope."
    )
    attributes = serializers.DictField(
        child=Text(max_length=255, allow_blank=True),
        required=False,
        default=dict,
        help_text="Notes for people who look at the lease. No secrets.",
    )


class LeaseWrite(LeaseRequest):
    wait_seconds = Whole(
        required=False,
        default=0,
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        help_text="How long to wait in the queue, in seconds. The response comes once units are granted.",
    )
    queue = Flag(
        required=False,
        default=False,
        help_text="Queue without a delayed response. Repeat the request within 60 seconds to stay queued.",
    )


class LeaseGetQuery(Query):
    wait = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        help_text="How long to wait for a queued request to be granted, in seconds.",
    )


class LeaseListQuery(ScopeQuery, PageQuery):
    state = serializers.ChoiceField(LEASE_STATES, required=False, help_text="All states if omitted.")
    order = serializers.ChoiceField(
        [("newest", "newest"), ("oldest", "oldest")],
        required=False,
        default="newest",
        help_text="Which leases come first.",
    )


class LeaseRenewal(StrictSerializer):
    epoch = Whole(min_value=1, help_text="Of your lease, as you last read it.")
    lease_seconds = Whole(
        required=False, min_value=0, max_value=_LONGEST_SECONDS, help_text="Omitted: as before."
    )


class LeaseReleaseQuery(MutationQuery):
    epoch = serializers.IntegerField(
        required=False, min_value=0, help_text="Release only this grant of the lease."
    )


class LeaseReleaseWrite(StrictSerializer):
    token = Text(max_length=MAX_TOKEN_LENGTH)
    scope = ScopeWrite(required=False)
    epoch = Whole(required=False, min_value=0, help_text="Release only this grant of the lease.")


class LeaseRenewalItem(LeaseRenewal):
    lease = serializers.UUIDField()


class LeaseReleaseItem(StrictSerializer):
    lease = serializers.UUIDField()
    epoch = Whole(required=False, min_value=0)


class LeaseAcquireItem(LeaseRequest):
    queue = Flag(required=False, default=False, help_text="Queue if there are no units.")


class LeaseBatchItem(StrictSerializer):
    """One of `acquire`, `renew` and `release`."""

    acquire = LeaseAcquireItem(required=False)
    renew = LeaseRenewalItem(required=False)
    release = LeaseReleaseItem(required=False)

    def validate(self, item: dict[str, Any]) -> dict[str, Any]:
        if len(item) != 1:
            raise serializers.ValidationError(
                "Give exactly one of `acquire`, `renew` and `release`.", code="invalid"
            )
        return item


class LeaseBatch(StrictSerializer):
    operations = serializers.ListField(child=LeaseBatchItem(), allow_empty=False, max_length=MOST_OPERATIONS)


class LeaseRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    pool = serializers.CharField()
    token = serializers.CharField()
    scope = ScopeRead()
    units = serializers.IntegerField()
    state = serializers.ChoiceField(LEASE_STATES)
    epoch = serializers.IntegerField(
        help_text="Rises with each grant of the pool. Pass it to the resource, which can then reject holders"
        " of older leases. 0 while it waits."
    )
    priority = serializers.IntegerField()
    holder = serializers.CharField(allow_null=True, help_text="Who requested it.")
    door = serializers.ChoiceField(DOORS)
    lease_seconds = serializers.IntegerField()
    attributes = serializers.DictField(child=serializers.CharField())
    requested_at = serializers.DateTimeField()
    granted_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(
        allow_null=True, help_text="While it waits: when it leaves the queue unless it is repeated."
    )
    ended_at = serializers.DateTimeField(allow_null=True)


class LeaseResult(LeaseRead):
    position = serializers.IntegerField(
        allow_null=True, help_text="In the queue of its scope; null unless it waits."
    )
    estimate_seconds = serializers.IntegerField(
        allow_null=True, help_text="How long it may still wait, by how long leases were held lately."
    )
    limited_by = ObstacleRead(many=True, help_text="What leaves no room; empty unless it waits.")


class LeasePage(serializers.Serializer[Any]):
    items = LeaseRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class LeaseBatchResult(serializers.Serializer[Any]):
    status = serializers.IntegerField(
        help_text="As of a single request: 200, 201, 202, 204, 404, 409 or 429."
    )
    code = serializers.CharField(allow_null=True, help_text="Problem code; null if it succeeded.")
    detail = serializers.CharField(allow_null=True)
    lease = LeaseRead(allow_null=True)
    limits = ObstacleRead(many=True)


class LeaseBatchRead(serializers.Serializer[Any]):
    results = LeaseBatchResult(many=True, help_text="In the order of the operations.")


class LeaseRevocationQuery(ReasonedQuery):
    """`change_message` is the reason."""


def show_lease(lease: PoolLease | Lease, pool: str, names: Mapping[UUID | None, str]) -> dict[str, Any]:
    return {
        "id": str(lease.id),
        "pool": pool,
        "token": lease.token,
        "scope": show_scope(lease.scope),
        "units": lease.units,
        "state": str(lease.state),
        "epoch": lease.epoch,
        "priority": lease.priority,
        "holder": names.get(lease.holder_id),
        "door": str(lease.door),
        "lease_seconds": lease.lease_seconds,
        "attributes": lease.attributes,
        "requested_at": lease.requested_at,
        "granted_at": lease.granted_at,
        "expires_at": lease.expires_at,
        "ended_at": lease.ended_at,
    }


def show_place(place: Place | None) -> dict[str, Any]:
    return {
        "position": place.position if place else None,
        "estimate_seconds": place.estimate_seconds if place else None,
    }
