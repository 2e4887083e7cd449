"""Put up, change and take away guard rails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction
from django.db.models import Max

from controlplane.access import audit
from controlplane.errors import FieldError, InvalidRequest, StillInUse, UnknownGuardRail
from controlplane.events.types import EventType
from controlplane.formats.quantities import amount
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Level, Scope
from overrides import event_types
from overrides.editing.commit import DEFAULT_LIMITS, Limits, commit
from overrides.editing.plans import KeptOut, Plan
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.revisions import lock_revisions, take_revision
from overrides.models import GuardRailRow
from overrides.projects import check_known
from overrides.resolution.merging import REMOVE
from overrides.resource_types import ResourceType
from overrides.resource_types.operators import path_of, schema_at

_TOLD = 100


@dataclass(frozen=True, slots=True)
class RailWrite:
    """A rail as somebody wants it. rule: any of lock_below, minimum, maximum, allowed."""

    name: str
    scope: Scope
    resource_type: str
    pointer: str
    rule: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RailPut:
    """What a put of a rail did. plan: how it changes effective values."""

    row: GuardRailRow
    is_new: bool
    plan: Plan


@transaction.atomic
def put_rail(
    wanted: RailWrite,
    *,
    actor: Actor,
    precondition: Precondition | None = None,
    accept_existing: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> RailPut:
    """Put up a rail or change it.

    Raises InvalidRequest, InheritedConflict if some scope would resolve to something invalid, StillInUse
    with the overrides that newly break it, unless those are accepted, and ConfirmationRequired.
    """
    lock_revisions()
    earlier = current_catalogue()
    row, standing = store_rail(wanted, actor=actor, precondition=precondition)
    plan = commit([], current_catalogue(), actor=actor, limits=limits, earlier=earlier)
    if limits.asks and not accept_existing:
        _refuse_if_broken(plan.kept_out)
    revision = row.since_revision if row is not standing else 0
    return RailPut(row, standing is None, replace(plan, revision=revision))


def store_rail(
    wanted: RailWrite, *, actor: Actor, precondition: Precondition | None = None
) -> tuple[GuardRailRow, GuardRailRow | None]:
    """Write a rail; what it does to values is the caller's to look at. The caller holds the lock.

    Returns the rail, and the one that stood before: the same where nothing changes.
    """
    check_known(wanted.scope)
    _check_rule(wanted, current_catalogue().get(wanted.resource_type))
    standing = GuardRailRow.objects.present().filter(name=wanted.name).first()
    check(precondition, standing.version if standing else None)
    if standing and _as_write(standing) == wanted:
        return standing, standing
    return _store(_row(wanted, actor), standing, actor), standing


@transaction.atomic
def delete_rail(
    name: str, *, actor: Actor, precondition: Precondition | None = None, limits: Limits = DEFAULT_LIMITS
) -> Plan:
    """Take a rail away; statements that it kept out apply again.

    Raises UnknownGuardRail, InheritedConflict, ConfirmationRequired.
    """
    lock_revisions()
    earlier = current_catalogue()
    standing = get_rail(name)
    check(precondition, standing.version)
    revision = take_revision(actor, changes=1, everything=True)
    standing.until_revision = revision.revision
    standing.save(update_fields=["until_revision"])
    plan = commit([], current_catalogue(), actor=actor, limits=limits, earlier=earlier)
    _announce(event_types.RAIL_REMOVED, standing, actor, revision.revision, before=standing, after=None)
    return replace(plan, revision=revision.revision)


def get_rail(name: str) -> GuardRailRow:
    """Raises UnknownGuardRail."""
    found = GuardRailRow.objects.present().filter(name=name).first()
    if found is None:
        raise UnknownGuardRail(f"There is no guard rail {name[:80]!r}.")
    return found


def show_row(row: GuardRailRow) -> dict[str, Any]:
    """The rail as the audit log and the export have it."""
    return {
        "name": row.name,
        "scope": row.scope.segments,
        "resource_type": row.resource_type,
        "pointer": row.pointer,
        "rule": row.rule,
        "reason": row.reason,
    }


def _as_write(row: GuardRailRow) -> RailWrite:
    return RailWrite(row.name, row.scope, row.resource_type, row.pointer, row.rule, row.reason)


def _check_rule(wanted: RailWrite, one: ResourceType) -> None:
    found = [*_bad_path(wanted, one), *_bad_bounds(wanted)]
    if found:
        raise InvalidRequest(found[0].message, errors=found)


def _bad_path(wanted: RailWrite, one: ResourceType) -> list[FieldError]:
    path = path_of(wanted.pointer)
    if not path or not wanted.pointer.startswith("/"):
        message = "A rail guards one field: a JSON Pointer such as /limits/cpu; * stands for any step."
        return [FieldError("/pointer", "malformed", message)]
    if schema_at(one.schema, path) is None or REMOVE in path:
        message = f"{one.name} has no field {wanted.pointer}. See GET /api/v1/resource-types/{one.name}."
        return [FieldError("/pointer", "unknown_field", message)]
    return []


def _bad_bounds(wanted: RailWrite) -> list[FieldError]:
    rule = wanted.rule
    if not rule:
        message = "Say at least one of: lock_below, minimum, maximum, allowed."
        return [FieldError("/rule", "required", message)]
    bounds = {name: amount(rule[name]) for name in ("minimum", "maximum") if name in rule}
    found = [
        FieldError(
            f"/rule/{name}", "malformed", f"{name} must be a number or a quantity such as 500m or 2Gi."
        )
        for name, bound in bounds.items()
        if bound is None
    ]
    if not found and len(bounds) == 2 and bounds["minimum"] > bounds["maximum"]:  # type: ignore[operator]
        found.append(FieldError("/rule/maximum", "minimum_above_maximum", "maximum is below minimum."))
    level = rule.get("lock_below")
    if level and Level[level.upper()] < wanted.scope.level:
        message = f"The rail lies at {wanted.scope}, so only scopes below that can be locked out."
        found.append(FieldError("/rule/lock_below", "not_allowed", message))
    return found


def _refuse_if_broken(kept_out: Sequence[KeptOut]) -> None:
    broken = [
        FieldError("", "guard_rail_broken", f"{value.scope}: {value.leaf} {value.because}")
        for value in kept_out
    ]
    if broken:
        raise StillInUse(
            f"{len(broken)} values that are set break this rail. First: {broken[0].message}. Change them, or "
            "send accept_existing=true: then they stay stored and do not apply.",
            errors=broken[:_TOLD],
        )


def _row(wanted: RailWrite, actor: Actor) -> GuardRailRow:
    past = GuardRailRow.objects.filter(name=wanted.name)
    return GuardRailRow(
        name=wanted.name,
        **wanted.scope.segments,
        resource_type=wanted.resource_type,
        pointer=wanted.pointer,
        rule=dict(wanted.rule),
        reason=wanted.reason,
        version=(past.aggregate(last=Max("version"))["last"] or 0) + 1,
        changed_by=actor.name,
    )


def _store(row: GuardRailRow, standing: GuardRailRow | None, actor: Actor) -> GuardRailRow:
    revision = take_revision(actor, changes=1, everything=True)
    if standing:
        standing.until_revision = revision.revision
        standing.save(update_fields=["until_revision"])
    row.since_revision, row.changed_at = revision.revision, revision.made_at
    row.save(force_insert=True)
    kind = event_types.RAIL_CHANGED if standing else event_types.RAIL_SET
    _announce(kind, row, actor, revision.revision, before=standing, after=row)
    return row


def _announce(
    kind: EventType,
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
        kind,
        "guard_rail",
        row.name,
        actor=actor,
        before=show_row(before) if before else None,
        after=show_row(after) if after else None,
        data=data,
        scope=row.scope,
    )
