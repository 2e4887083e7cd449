"""Schedule and cancel changes of overrides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from controlplane.database.clock import statement_now
from controlplane.errors import Conflict, UnknownOverrideChange
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition, check
from overrides.editing.commit import CommitOptions, begin
from overrides.editing.frozen import frozen_error
from overrides.editing.writes import missing_override
from overrides.freezes.storage import active_freezes
from overrides.loading.current import CurrentOverride, load_current
from overrides.projects import check_known
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes
from overrides.resource_types import ResourceType
from overrides.scheduled_models import OverrideChange
from overrides.scheduling.decisions import ChangeState, check_times
from overrides.scheduling.execution import apply_change
from overrides.scheduling.records import record, snapshot

# What the override becomes, by its type and its current attributes; None deletes it.
Revise = Callable[[ResourceType, Attributes | None], Attributes | None]


@dataclass(frozen=True, slots=True)
class Approval:
    """The change request that a change was approved by. digest: of the approved plan."""

    change_request_id: UUID
    digest: str
    author: Actor


@dataclass(frozen=True, slots=True)
class ChangeSpec:
    """The desired change. at: None for now. until: None for good. approval: None if nobody approved it."""

    address: Address
    revise: Revise
    at: datetime | None = None
    until: datetime | None = None
    message: str = ""
    approval: Approval | None = None


@transaction.atomic
def schedule_change(
    spec: ChangeSpec, *, actor: Actor, options: CommitOptions, precondition: Precondition | None = None
) -> OverrideChange:
    """Store the change, and apply it at once if it has no `at`.

    It is validated and confirmed now, as if it were made now. Raises Conflict if another change of the
    override is pending, ChangeFrozen if a freeze will be active at its time, and like a write. Approvals
    are needed now and when it is applied, so a bypass counts for what is applied now alone.
    """
    catalogue = begin(actor)
    address = spec.address
    resource_type = catalogue.get(address.resource_type)
    check_known(address.scope)
    now = statement_now()
    check_times(spec.at, spec.until, now)
    _refuse_second(address)
    current = load_current([address])[address]
    check(precondition if precondition and precondition.is_set else None, current.present_version)
    row = _row(spec, current, spec.revise(resource_type, current.attributes), actor, now)
    if spec.at is None:
        apply_change(row, current, actor, options)
        row.state, row.applied_at, row.due_at = ChangeState.APPLIED, now, spec.until
    else:
        _rehearse(row, current, actor, options, spec.at)
    row.save(force_insert=True)
    row.refresh_from_db(fields=["created_at"])
    record(row, actor, before=None)
    return row


@transaction.atomic
def cancel_change(change_id: UUID, *, actor: Actor) -> OverrideChange:
    """Cancel what is pending: the change, or if it is applied, its end; then its values stay.

    Raises Conflict if nothing is pending.
    """
    row = OverrideChange.objects.select_for_update().filter(id=change_id).first()
    if row is None:
        raise UnknownOverrideChange(f"Scheduled change {change_id} does not exist.")
    if row.due_at is None:
        raise Conflict(f"The change is {row.state}: nothing is pending.")
    before = snapshot(row)
    row.state, row.due_at, row.finished_at = ChangeState.CANCELLED, None, statement_now()
    row.save()
    record(row, actor, before=before)
    return row


def find_change(change_id: UUID, caller: Caller) -> OverrideChange:
    """Raises UnknownOverrideChange, also if the caller cannot read it."""
    readable = OverrideChange.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    row: OverrideChange | None = readable.filter(id=change_id).first()
    if row is None:
        raise UnknownOverrideChange(f"Scheduled change {change_id} does not exist.")
    return row


def deletion(resource_type: ResourceType, attributes: Attributes | None) -> None:
    """As `Revise`: delete the override."""


def _row(
    spec: ChangeSpec, current: CurrentOverride, after: Attributes | None, actor: Actor, now: datetime
) -> OverrideChange:
    if after is None and current.attributes is None:
        raise missing_override(spec.address)
    author = spec.approval.author if spec.approval else actor
    return OverrideChange(
        resource_type=spec.address.resource_type,
        **spec.address.scope.segments,
        attributes=after,
        at=spec.at or now,
        until=spec.until,
        state=ChangeState.SCHEDULED,
        planned_version=current.version,
        due_at=spec.at,
        message=spec.message,
        author_id=author.principal_id,
        created_by=author.name,
        change_request_id=spec.approval.change_request_id if spec.approval else None,
        plan_digest=spec.approval.digest if spec.approval else "",
    )


def _rehearse(
    row: OverrideChange, current: CurrentOverride, actor: Actor, options: CommitOptions, at: datetime
) -> None:
    """Validate and confirm the change, and undo it. Raises ChangeFrozen for a freeze at its time."""
    if options.heeds_freezes and (frozen := active_freezes([row.scope], at=at)):
        raise frozen_error(frozen)
    with transaction.atomic():
        # A freeze of today may be over then.
        consent = options.consent.without_bypass()
        apply_change(row, current, actor, replace(options, heeds_freezes=False, consent=consent))
        transaction.set_rollback(True)
    row.before, row.before_owners, row.applied_version = None, {}, None


def _refuse_second(address: Address) -> None:
    pending = OverrideChange.objects.at(address.scope).filter(
        resource_type=address.resource_type, due_at__isnull=False
    )
    if (other := pending.first()) is not None:
        raise Conflict(
            f"Change {other.id} of {address} by {other.created_by} is pending. Cancel it, or wait until "
            "it is done."
        )
