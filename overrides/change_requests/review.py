"""Approve and reject change requests."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from controlplane.identity.actors import Actor
from overrides import event_types
from overrides.approval_models import ChangeRequest, ChangeRequestApproval
from overrides.approvals.request_states import RequestState, state_of
from overrides.change_requests.decisions import Reviewer, check_independent, check_pending
from overrides.change_requests.planning import RequestPlan, plan_request
from overrides.change_requests.records import record, snapshot
from overrides.change_requests.requests import change_of, close
from overrides.change_requests.storage import approvals_of, locked_request, required_for
from overrides.editing.plan_digest import drifted
from overrides.loading.revisions import lock_revisions


@transaction.atomic
def approve_request(
    request_id: UUID, digest: str, *, reviewer: Reviewer, actor: Actor, comment: str = ""
) -> ChangeRequest:
    """Approve the plan with this digest, which must still be what the change does.

    Under the lock of revisions, so no change and no other approval comes between. Raises PlanDrifted,
    NotIndependent, Conflict if it is not pending.
    """
    lock_revisions()
    row = locked_request(request_id)
    check_pending(RequestState(row.state))
    approvals = approvals_of(row)
    check_independent(row.created_by, list(map(UUID, row.people)), approvals, reviewer)
    current_plan(row, digest, actor)
    before = snapshot(row)
    ChangeRequestApproval.objects.create(
        change_request=row,
        reviewer_id=reviewer.id,
        reviewer=reviewer.name,
        people=sorted(map(str, reviewer.people)),
        digest=digest,
        comment=comment,
    )
    row.state = state_of(len(approvals) + 1, required_for(row))
    row.save()
    record(event_types.REQUEST_APPROVED, row, actor, before=before, comment=comment)
    return row


@transaction.atomic
def reject_request(request_id: UUID, *, actor: Actor, comment: str) -> ChangeRequest:
    """Reject the change for good. Raises Conflict if it is not pending."""
    row = locked_request(request_id)
    check_pending(RequestState(row.state))
    before = snapshot(row)
    close(row, RequestState.REJECTED, actor)
    record(event_types.REQUEST_REJECTED, row, actor, before=before, comment=comment)
    return row


def current_plan(row: ChangeRequest, digest: str, actor: Actor) -> RequestPlan:
    """Return the plan of now. Raises PlanDrifted unless it has the digest, and so has the row."""
    plan = plan_request(change_of(row), actor)
    if not plan.digest == digest == row.digest:
        raise drifted(plan.digest)
    return plan
