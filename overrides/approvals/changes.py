"""Set, change and delete approval policies.

All three take the lock of revisions, as every change of overrides does: a change is committed before the
policy exists, or is held by it.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from controlplane.access import audit
from controlplane.errors import Conflict
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from overrides import event_types
from overrides.approval_models import ApprovalPolicy, ChangeRequest
from overrides.approvals.decisions import policies_over, required_by
from overrides.approvals.request_states import PENDING, state_of
from overrides.approvals.storage import all_policies, count_approvals, missing_policy
from overrides.loading.revisions import lock_revisions
from overrides.projects import check_known


@transaction.atomic
def create_policy(scope: Scope, *, approvals: int, reason: str, actor: Actor) -> ApprovalPolicy:
    """Require approvals at and below the scope.

    Raises Conflict if the scope has a policy, UnknownProject, UnknownDomain.
    """
    lock_revisions()
    check_known(scope)
    if (other := ApprovalPolicy.objects.at(scope).first()) is not None:
        raise Conflict(f"Policy {other.id} exists at {scope}. Change that one.")
    row = ApprovalPolicy(**scope.segments, approvals=approvals, reason=reason, created_by=actor.name)
    row.save(force_insert=True)
    row.refresh_from_db(fields=["created_at"])
    _settle_requests(scope)
    _record(event_types.POLICY_CREATED, row, actor, before=None, after=snapshot(row))
    return row


@transaction.atomic
def change_policy(
    policy_id: UUID, fields: dict[str, Any], *, actor: Actor, precondition: Precondition | None = None
) -> ApprovalPolicy:
    """Change the number of approvals or the reason. Raises VersionMismatch."""
    row = _locked(policy_id, precondition)
    before = snapshot(row)
    if all(getattr(row, name) == value for name, value in fields.items()):
        return row
    for name, value in fields.items():
        setattr(row, name, value)
    row.version += 1
    row.save()
    _settle_requests(row.scope)
    _record(event_types.POLICY_CHANGED, row, actor, before=before, after=snapshot(row))
    return row


@transaction.atomic
def delete_policy(policy_id: UUID, *, actor: Actor, precondition: Precondition | None = None) -> None:
    """Delete the policy: overrides at its scope may change at once. Raises VersionMismatch."""
    row = _locked(policy_id, precondition)
    before = snapshot(row)
    ApprovalPolicy.objects.filter(id=row.id).delete()
    _settle_requests(row.scope)
    _record(event_types.POLICY_DELETED, row, actor, before=before, after=None)


def snapshot(row: ApprovalPolicy) -> dict[str, Any]:
    """Return the policy as the audit log contains it."""
    return {"scope": row.scope.segments, "approvals": row.approvals, "reason": row.reason}


def _locked(policy_id: UUID, precondition: Precondition | None) -> ApprovalPolicy:
    lock_revisions()
    row = ApprovalPolicy.objects.filter(id=policy_id).first()
    if row is None:
        raise missing_policy(policy_id)
    # A request names what it changes, so If-Match is optional.
    check(precondition if precondition and precondition.is_set else None, row.version)
    return row


def _settle_requests(scope: Scope) -> None:
    """Put pending change requests at and below the scope into the state that the policies of now give."""
    policies = all_policies()
    pending = ChangeRequest.objects.within([scope]).filter(state__in=PENDING).order_by("id")
    for row in pending.select_for_update():
        required = required_by(policies_over(policies, [row.scope]))
        state = state_of(count_approvals(row.id), required)
        if state != row.state:
            ChangeRequest.objects.filter(id=row.id).update(state=state)


def _record(
    event_type: EventType,
    row: ApprovalPolicy,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    audit.record(
        event_type,
        "approval_policy",
        str(row.id),
        actor=actor,
        before=before,
        after=after,
        data=snapshot(row),
        scope=row.scope,
    )
