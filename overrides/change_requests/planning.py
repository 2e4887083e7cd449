"""The plan of a change request: what it would change now, validated like a write, and its digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.actors import Actor
from overrides.change_requests.decisions import Way
from overrides.editing.commit import CommitOptions, begin, commit
from overrides.editing.draft import Draft
from overrides.editing.plan_digest import plan_digest
from overrides.editing.plans import Difference, Plan
from overrides.editing.writes import missing_override, refuse_conflicts
from overrides.field_managers import replace_attributes
from overrides.loading.current import CurrentOverride, load_current
from overrides.projects import check_known
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import ABSENT
from overrides.resolution.merging import Attributes, merge_patch
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import Catalogue

_REHEARSAL = CommitOptions(wants_plan=True, asks=False, heeds_freezes=False, heeds_approvals=False)


@dataclass(frozen=True, slots=True)
class RequestedChange:
    """The change of one override that somebody wants. document: None if it deletes."""

    address: Address
    way: Way
    document: Attributes | None = None


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """What a requested change makes of the current state, with the catalogue that it was computed with."""

    draft: Draft
    digest: str
    catalogue: Catalogue

    @property
    def base_version(self) -> int:
        return self.draft.current.version


def plan_request(change: RequestedChange, actor: Actor) -> RequestPlan:
    """Compute the change on the current state, under the lock of revisions. Raises like a write."""
    catalogue = begin(actor)
    resource_type = catalogue.get(change.address.resource_type)
    check_known(change.address.scope)
    current = load_current([change.address])[change.address]
    after = _after(change, resource_type, current)
    outcome = replace_attributes(current.attributes, current.owners, after, resource_type.rule, "")
    refuse_conflicts(change.address, outcome, force=False)
    draft = Draft(current, after, outcome.owners)
    return RequestPlan(draft, plan_digest(draft, catalogue), catalogue)


def rehearse(plan: RequestPlan, actor: Actor) -> Plan:
    """Validate the change as a write does, and undo it. Raises InvalidRequest if it changes nothing."""
    if not plan.draft.changes:
        message = f"Nothing changes: {plan.draft.address} has these attributes already."
        raise InvalidRequest(message, errors=[FieldError("", "no_change", message)])
    with transaction.atomic():
        rehearsed = commit([plan.draft], plan.catalogue, actor=actor, options=_REHEARSAL)
        transaction.set_rollback(True)
    return rehearsed


def shown_plan(plan: Plan) -> dict[str, Any]:
    """Return the plan as change requests keep it: differences of the override, and of effective values."""
    (change,) = plan.changes
    return {
        "change": change.kind.value,
        "differences": _shown(change.differences),
        "affected_scopes": plan.affected,
        "effective": [
            {"scope": entry.scope.segments, "differences": _shown(entry.differences)}
            for entry in plan.effective
        ],
    }


def _after(
    change: RequestedChange, resource_type: ResourceType, current: CurrentOverride
) -> Attributes | None:
    if change.way is Way.DELETE:
        if current.attributes is None:
            raise missing_override(change.address)
        return None
    stated = resource_type.read(change.document or {})
    return stated if change.way is Way.ATTRIBUTES else merge_patch(current.attributes or {}, stated)


def _shown(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    return [
        {"leaf": difference.leaf}
        | ({} if difference.before is ABSENT else {"before": difference.before})
        | ({} if difference.after is ABSENT else {"after": difference.after})
        for difference in differences
    ]
