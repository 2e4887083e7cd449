"""Approval policies in the database."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from controlplane.database.scoped import overlapping
from controlplane.errors import UnknownApprovalPolicy
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.approval_models import ApprovalPolicy, ChangeRequestApproval
from overrides.approvals.decisions import Policy, policies_over


def as_policy(row: ApprovalPolicy) -> Policy:
    return Policy(row.id, row.scope, row.approvals, row.created_by, row.reason)


def policies_at(scopes: Iterable[Scope]) -> tuple[Policy, ...]:
    """Return the policies that hold changes at these scopes, the strictest first. They are few."""
    changed = set(scopes)
    if not changed:
        return ()
    return policies_over(all_policies(), changed)


def all_policies() -> list[Policy]:
    return [as_policy(row) for row in ApprovalPolicy.objects.all()]


def count_approvals(change_request_id: UUID | None) -> int:
    """Return how many approvals the change request has; 0 for none."""
    if change_request_id is None:
        return 0
    return ChangeRequestApproval.objects.filter(change_request_id=change_request_id).count()


def visible(caller: Caller) -> Q:
    """Match policies that hold changes somewhere where the caller can read overrides."""
    return overlapping(caller.scopes_for(Action.OVERRIDE_READ))


def find_policy(policy_id: UUID, caller: Caller) -> ApprovalPolicy:
    """Raises UnknownApprovalPolicy, also if the caller cannot read it."""
    row = ApprovalPolicy.objects.filter(visible(caller), id=policy_id).first()
    if row is None:
        raise missing_policy(policy_id)
    return row


def missing_policy(policy_id: UUID) -> UnknownApprovalPolicy:
    return UnknownApprovalPolicy(f"Approval policy {policy_id} does not exist.")
