"""Create, change and delete guard rails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction
from django.db.models import Max

from controlplane.access import audit
from controlplane.errors import Conflict, FieldError, InvalidRequest, StillInUse, UnknownGuardRail
from controlplane.events.types import EventType
from controlplane.formats.counts import counted
from controlplane.formats.quantities import amount
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Level, Scope
from overrides import event_types
from overrides.editing.commit import DEFAULT_OPTIONS, CommitOptions, commit
from overrides.editing.plans import KeptOut, Plan
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.revisions import lock_revisions, take_revision
from overrides.models import GuardRailRow
from overrides.projects import check_known
from overrides.resolution.merging import REMOVE
from overrides.resource_types import ResourceType
from overrides.resource_types.operators import path_of, schema_at

MAX_REPORTED = 100


@dataclass(frozen=True, slots=True)
class GuardRailSpec:
    """The desired state of a guard rail. rule: any of lock_below, minimum, maximum, allowed."""

    name: str
    scope: Scope
    resource_type: str
    pointer: str
    rule: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PutRailResult:
    """The result of putting a guard rail. plan: how it changes effective values."""

    row: GuardRailRow
    is_new: bool
    plan: Plan


@transaction.atomic
def put_rail(
    rail: GuardRailSpec,
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    accept_existing: bool = False,
    options: CommitOptions = DEFAULT_OPTIONS,
) -> PutRailResult:
    """Create a rail or change it.

    Raises InvalidRequest, InheritedConflict if a scope would resolve to invalid attributes, StillInUse
    with the overrides that newly break it unless those are accepted, and ConfirmationRequired.
    """
    lock_revisions()
    earlier = current_catalogue()
    row, existing = store_rail(rail, actor=actor, precondition=precondition)
    plan = commit([], current_catalogue(), actor=actor, options=options, earlier=earlier)
    if options.asks and not accept_existing:
        _refuse_if_broken(plan.kept_out)
    revision = row.since_revision if row is not existing else 0
    return PutRailResult(row, existing is None, replace(plan, revision=revision))


def store_rail(
    rail: GuardRailSpec, *, actor: Actor, precondition: Precondition | None = None
) -> tuple[GuardRailRow, GuardRailRow | None]:
    """Write a rail. The caller holds the lock, and checks the effect on values.

    Return the rail and its previous row: the same row if nothing changes.
    """
    check_known(rail.scope)
    _check_rule(rail, current_catalogue().get(rail.resource_type))
    existing = GuardRailRow.objects.present().filter(name=rail.name).first()
    check(precondition, existing.version if existing else None)
    if existing and _as_write(existing) == rail:
        return existing, existing
    return _store(_row(rail, actor), existing, actor), existing


@transaction.atomic
def delete_rail(
    name: str,
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    options: CommitOptions = DEFAULT_OPTIONS,
) -> Plan:
    """Delete a rail; values that it refused apply again.

    Raises UnknownGuardRail, InheritedConflict, ConfirmationRequired.
    """
    lock_revisions()
    earlier = current_catalogue()
    existing = get_rail(name)
    check(precondition, existing.version)
    revision = take_revision(actor, changes=1, everything=True)
    existing.until_revision = revision.revision
    existing.save(update_fields=["until_revision"])
    plan = commit([], current_catalogue(), actor=actor, options=options, earlier=earlier)
    _announce(event_types.RAIL_REMOVED, existing, actor, revision.revision, before=existing, after=None)
    return replace(plan, revision=revision.revision)


@transaction.atomic
def undelete_rail(
    name: str, *, actor: Actor, accept_existing: bool = False, options: CommitOptions = DEFAULT_OPTIONS
) -> PutRailResult:
    """Create a deleted rail again, as it was. Raises UnknownGuardRail, Conflict, and like `put_rail`."""
    lock_revisions()
    latest = get_latest_rail(name)
    if latest.until_revision is None:
        raise Conflict(f"Guard rail {name[:80]!r} is not deleted: version {latest.version} applies.")
    return put_rail(_as_write(latest), actor=actor, accept_existing=accept_existing, options=options)


def get_latest_rail(name: str) -> GuardRailRow:
    """Return the latest row of a rail, even if it is deleted. Raises UnknownGuardRail."""
    row = GuardRailRow.objects.filter(name=name).order_by("-version").first()
    if row is None:
        raise UnknownGuardRail(f"Guard rail {name[:80]!r} does not exist.")
    return row


def get_rail(name: str) -> GuardRailRow:
    """Return the current row of a rail. Raises UnknownGuardRail."""
    row = GuardRailRow.objects.present().filter(name=name).first()
    if row is None:
        raise UnknownGuardRail(f"Guard rail {name[:80]!r} does not exist.")
    return row


def rail_snapshot(row: GuardRailRow) -> dict[str, Any]:
    """Return the rail as the audit log and the export contain it."""
    return {
        "name": row.name,
        "scope": row.scope.segments,
        "resource_type": row.resource_type,
        "pointer": row.pointer,
        "rule": row.rule,
        "reason": row.reason,
    }


def _as_write(row: GuardRailRow) -> GuardRailSpec:
    return GuardRailSpec(row.name, row.scope, row.resource_type, row.pointer, row.rule, row.reason)


def _check_rule(rail: GuardRailSpec, resource_type: ResourceType) -> None:
    errors = [*_bad_path(rail, resource_type), *_bad_bounds(rail)]
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)


def _bad_path(rail: GuardRailSpec, resource_type: ResourceType) -> list[FieldError]:
    path = path_of(rail.pointer)
    if not path or not rail.pointer.startswith("/"):
        message = "A guard rail needs one field as a JSON Pointer, such as /limits/cpu. Use * for any step."
        return [FieldError("/pointer", "malformed", message)]
    if schema_at(resource_type.schema, path) is None or REMOVE in path:
        name = resource_type.name
        message = f"{name} has no field {rail.pointer}. See GET /api/v1/resource-types/{name}."
        return [FieldError("/pointer", "unknown_field", message)]
    return []


def _bad_bounds(rail: GuardRailSpec) -> list[FieldError]:
    rule = rail.rule
    if not rule:
        message = "Set at least one of lock_below, minimum, maximum and allowed."
        return [FieldError("/rule", "required", message)]
    bounds = {name: amount(rule[name]) for name in ("minimum", "maximum") if name in rule}
    errors = [
        FieldError(
            f"/rule/{name}", "malformed", f"{name} must be a number or a quantity such as 500m or 2Gi."
        )
        for name, bound in bounds.items()
        if bound is None
    ]
    if not errors and len(bounds) == 2 and bounds["minimum"] > bounds["maximum"]:  # type: ignore[operator]
        errors.append(FieldError("/rule/maximum", "minimum_above_maximum", "maximum is below minimum."))
    level = rule.get("lock_below")
    if level and Level[level.upper()] < rail.scope.level:
        message = f"The guard rail is at {rail.scope}, so only scopes below it can be locked."
        errors.append(FieldError("/rule/lock_below", "not_allowed", message))
    return errors


def _refuse_if_broken(kept_out: Sequence[KeptOut]) -> None:
    broken = [
        FieldError("", "guard_rail_broken", f"{value.scope}: {value.leaf} {value.because}")
        for value in kept_out
    ]
    if broken:
        raise StillInUse(
            f"{counted(len(broken), 'existing value breaks', 'existing values break')} this guard rail. "
            f"First: {broken[0].message}. "
            "Change them, or send accept_existing=true to keep them stored without effect.",
            errors=broken[:MAX_REPORTED],
        )


def _row(rail: GuardRailSpec, actor: Actor) -> GuardRailRow:
    past = GuardRailRow.objects.filter(name=rail.name)
    return GuardRailRow(
        name=rail.name,
        **rail.scope.segments,
        resource_type=rail.resource_type,
        pointer=rail.pointer,
        rule=dict(rail.rule),
        reason=rail.reason,
        version=(past.aggregate(last=Max("version"))["last"] or 0) + 1,
        changed_by=actor.name,
    )


def _store(row: GuardRailRow, existing: GuardRailRow | None, actor: Actor) -> GuardRailRow:
    revision = take_revision(actor, changes=1, everything=True)
    if existing:
        existing.until_revision = revision.revision
        existing.save(update_fields=["until_revision"])
    row.since_revision, row.changed_at = revision.revision, revision.made_at
    row.save(force_insert=True)
    event_type = event_types.RAIL_CHANGED if existing else event_types.RAIL_SET
    _announce(event_type, row, actor, revision.revision, before=existing, after=row)
    return row


def _announce(
    event_type: EventType,
    row: GuardRailRow,
    actor: Actor,
    revision: int,
    *,
    before: GuardRailRow | None,
    after: GuardRailRow | None,
) -> None:
    data = {
        "name": row.name,
        "resource_type": row.resource_type,
        "scope": row.scope.segments,
        "revision": revision,
    }
    audit.record(
        event_type,
        "guard_rail",
        row.name,
        actor=actor,
        before=rail_snapshot(before) if before else None,
        after=rail_snapshot(after) if after else None,
        data=data,
        scope=row.scope,
    )
