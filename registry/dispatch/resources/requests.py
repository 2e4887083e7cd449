"""Requests of people and programs: create, delete, cancel and retry resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from controlplane.access import audit
from controlplane.errors import Conflict, FieldError, InvalidRequest, NameTaken
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.pools.quotas import is_defined
from controlplane.scopes import Scope
from registry.dispatch import storage
from registry.dispatch.event_types import (
    RESOURCE_CANCEL_REQUESTED,
    RESOURCE_DELETION_REQUESTED,
    RESOURCE_FORCED,
    RESOURCE_REQUESTED,
    RESOURCE_RETRIED,
)
from registry.dispatch.lifecycle import intents
from registry.dispatch.lifecycle.records import Change
from registry.dispatch.lifecycle.service_types import spec_to_send
from registry.dispatch.lifecycle.states import ResourceState
from registry.dispatch.models import ResourceRow
from registry.dispatch.placement.candidates import Requirements, Ruling
from registry.dispatch.placement.place import constraint_members, place_if_needed, policy_facts, rule
from registry.dispatch.placement.policy_hook import has_policy
from registry.dispatch.policies import service_profiles
from registry.dispatch.quotas import IN_FLIGHT, RESOURCE_REQUESTS, check_request
from registry.dispatch.resource_events import facts, scope_of
from registry.dispatch.storage import Loaded

_FINAL = frozenset({ResourceState.DELETED, ResourceState.DELETING})


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """A resource to create. team_id: its owner; None: the platform. constraints: where it may be placed."""

    id: str
    service_type: str
    spec: Mapping[str, Any]
    scope: Scope = Scope()
    team_id: UUID | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    constraints: Mapping[str, str] = field(default_factory=dict)


@transaction.atomic
def create_resource(request: ResourceRequest, *, actor: Actor) -> ResourceRow:
    """Store the request, choose an agent if one can take it, and send it.

    Raises NameTaken, InvalidRequest, QuotaExceeded.
    """
    _check_spec(request)
    ruling = rule_on_request(request)
    row = _insert(request, actor)
    stored = ResourceRow.objects.annotate(has_quota=is_defined(RESOURCE_REQUESTS))
    loaded = storage.load(stored.select_for_update(of=("self",)).get(id=row.id))
    return _finish(loaded, Change(loaded.resource, places=True), RESOURCE_REQUESTED, actor, ruling)


@transaction.atomic
def delete_resource(resource_id: str, *, force: bool, caller: Caller, actor: Actor) -> ResourceRow:
    """Have the resource deleted; with `force`, mark it as deleted whatever its agents say.

    Idempotent. Raises UnknownResource, PermissionDenied.
    """
    loaded = lock_for(caller, resource_id, Action.DISPATCH_OPERATE if force else Action.RESOURCE_WRITE)
    if loaded.resource.deleted or (loaded.resource.state in _FINAL and not force):
        return loaded.row
    reason = actor.reason or f"Deleted by {actor.name}."
    if force:
        change = intents.abandon_all(loaded.resource, reason, now=loaded.now)
        return _finish(loaded, change, RESOURCE_FORCED, actor)
    change = intents.delete(loaded.resource, reason, now=loaded.now)
    return _finish(loaded, change, RESOURCE_DELETION_REQUESTED, actor)


@transaction.atomic
def cancel_resource(resource_id: str, *, caller: Caller, actor: Actor) -> ResourceRow:
    """End an attempt that does not run yet. Raises UnknownResource, PermissionDenied, Conflict."""
    loaded = lock_for(caller, resource_id, Action.RESOURCE_WRITE)
    state = loaded.resource.state
    if state in (ResourceState.CANCELLING, ResourceState.CANCELLED):
        return loaded.row
    if not intents.can_cancel(loaded.resource):
        raise Conflict(
            f"The resource is {state} and cannot be cancelled. Delete it with "
            f"DELETE /api/v1/resources/{resource_id}."
        )
    change = intents.cancel(loaded.resource, actor.reason or f"Cancelled by {actor.name}.", now=loaded.now)
    return _finish(loaded, change, RESOURCE_CANCEL_REQUESTED, actor)


@transaction.atomic
def retry_resource(resource_id: str, *, caller: Caller, actor: Actor, force: bool = False) -> ResourceRow:
    """Try again what failed, was cancelled, or could not be deleted; with `force`, give up the latter.

    Raises UnknownResource, PermissionDenied, Conflict, QuotaExceeded.
    """
    loaded = lock_for(caller, resource_id, Action.DISPATCH_OPERATE if force else Action.RESOURCE_WRITE)
    if not intents.can_retry(loaded.resource):
        raise Conflict(f"The resource is {loaded.resource.state}: there is nothing to try again.")
    reason, change = actor.reason or f"Retried by {actor.name}.", Change(loaded.resource)
    if force:
        change = intents.abandon_stuck(loaded.resource, reason, now=loaded.now)
    change = change.then(intents.retry(change.resource, reason, now=loaded.now))
    return _finish(loaded, change, RESOURCE_FORCED if force else RESOURCE_RETRIED, actor)


def lock_for(caller: Caller, resource_id: str, action: Action) -> Loaded:
    """Lock a resource that the caller may read, and check that it may perform the action on it.

    Raises UnknownResource, PermissionDenied.
    """
    loaded = storage.lock_resource(resource_id)
    scope, owner = scope_of(loaded.row), loaded.row.team_id
    if not caller.verdict(Action.RESOURCE_READ, scope, owner).allowed:
        raise storage.unknown_resource(resource_id)
    caller.require(action, scope, owner=owner)
    return loaded


def _check_spec(request: ResourceRequest) -> None:
    try:
        spec_to_send(request.service_type, request.spec, request.id, service_profiles())
    except ValueError as error:
        message = f"The spec is not valid for {request.service_type}: {error}."
        raise InvalidRequest(message, errors=[FieldError("/spec", "malformed", message)]) from error


def _insert(request: ResourceRequest, actor: Actor) -> ResourceRow:
    try:
        with transaction.atomic():
            return ResourceRow.objects.create(
                id=request.id,
                service_type=request.service_type,
                spec=dict(request.spec),
                team_id=request.team_id,
                labels=dict(request.labels),
                constraints=dict(request.constraints),
                request_id=actor.request_id,
                created_by=actor.name,
                **request.scope.segments,
            )
    except IntegrityError as error:
        if "registry_resource_pkey" not in str(error):
            raise
        raise NameTaken(
            f"The resource id {request.id!r} is in use. Leave out id, or choose another."
        ) from error


def requirements_of_request(request: ResourceRequest) -> Requirements:
    return Requirements(
        request.service_type,
        request.team_id,
        **constraint_members(request.constraints),
        key=request.id or f"{request.service_type} {request.scope}",
    )


def rule_on_request(request: ResourceRequest) -> Ruling | None:
    """Consult the placement policy on a request that is not stored yet; None without a policy."""
    facts = policy_facts(
        request.scope,
        request.team_id,
        request.constraints,
        request.labels,
        spec=request.spec,
        id=request.id,
    )
    return rule(requirements_of_request(request), facts) if has_policy() else None


def _finish(
    loaded: Loaded, change: Change, event_type: EventType, actor: Actor, ruling: Ruling | None = None
) -> ResourceRow:
    before = None if event_type is RESOURCE_REQUESTED else snapshot(loaded.row)
    change = place_if_needed(loaded, change, ruling)
    storage.save(loaded, change, actor=actor.name, request_id=actor.request_id)
    row = loaded.row
    if _starts_flight(row, event_type, before):
        check_request(row)
    audit.record(
        event_type,
        "resource",
        row.id,
        actor=actor,
        before=before,
        after=snapshot(row),
        data=facts(row),
        scope=scope_of(row),
        team_id=row.team_id,
    )
    return row


def _starts_flight(row: ResourceRow, event_type: EventType, before: dict[str, Any] | None) -> bool:
    """Return whether a quota may count the request from now on."""
    if before is None:
        # With the row, `create_resource` has read whether there is a quota.
        return bool(getattr(row, "has_quota", False))
    return event_type in (RESOURCE_RETRIED, RESOURCE_FORCED) and before["state"] not in IN_FLIGHT


def snapshot(row: ResourceRow) -> dict[str, Any]:
    """Return what the audit log keeps: not the spec, which may hold secrets."""
    return {"service_type": row.service_type, "goal": row.goal, "state": row.state, "agent": row.agent_name}
