"""Publish approved change requests: make the change, or schedule it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal
from controlplane.errors import PermissionDenied
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Action
from overrides import event_types
from overrides.approval_models import ChangeRequest
from overrides.approvals.decisions import Consent, unsatisfied
from overrides.approvals.request_states import RequestState
from overrides.approvals.storage import policies_at
from overrides.change_requests.decisions import check_approved, check_pending
from overrides.change_requests.planning import RequestPlan
from overrides.change_requests.records import record, snapshot
from overrides.change_requests.requests import close
from overrides.change_requests.review import current_plan
from overrides.change_requests.storage import approvals_of, locked_request
from overrides.editing.approved import approval_error
from overrides.editing.commit import CommitOptions, commit
from overrides.loading.revisions import lock_revisions
from overrides.resolution.merging import Attributes
from overrides.resource_types import ResourceType
from overrides.scheduling.changes import Approval, ChangeSpec, schedule_change


@transaction.atomic
def publish_request(
    request_id: UUID, *, actor: Actor, options: CommitOptions, at: datetime | None = None
) -> ChangeRequest:
    """Make the approved change, now or `at` a time, as an ordinary change in this transaction.

    Its author must still be allowed to. Raises ApprovalRequired, PlanDrifted, PermissionDenied, Conflict if
    it is not pending, ChangeFrozen, and like a write.
    """
    lock_revisions()
    row = locked_request(request_id)
    check_pending(RequestState(row.state))
    plan = current_plan(row, row.digest, actor)
    approvals = approvals_of(row)
    consent = Consent(len(approvals))
    _check_approvals(row, consent)
    _check_author(row)
    before = snapshot(row)
    reviewers = ", ".join(approval.reviewer for approval in approvals)
    cause = replace(actor, reason=_cause(row, reviewers, actor), ticket=row.ticket)
    options = replace(options, asks=False, consent=consent)
    if at is None:
        row.revision = commit([plan.draft], plan.catalogue, actor=cause, options=options).revision
    else:
        row.scheduled_change_id = _schedule(row, plan, cause, options, at)
    close(row, RequestState.PUBLISHED, actor)
    record(event_types.REQUEST_PUBLISHED, row, actor, before=before)
    return row


def _check_approvals(row: ChangeRequest, consent: Consent) -> None:
    """Raise ApprovalRequired unless every policy of now is satisfied, Conflict without any approval."""
    if lacking := unsatisfied(policies_at([row.scope]), consent):
        raise approval_error(lacking, consent, "Ask another person to approve the change request.")
    check_approved(consent.approvals)


def _check_author(row: ChangeRequest) -> None:
    author = Principal.objects.filter(id=row.author_id, is_active=True).first() if row.author_id else None
    if author is None or not caller_for(author).verdict(Action.OVERRIDE_WRITE, row.scope).allowed:
        raise PermissionDenied(
            f"{row.created_by}, the author, no longer has override.write at {row.scope}. Somebody who has it "
            "must open the change request again.",
            action=Action.OVERRIDE_WRITE.value,
        )


def _schedule(
    row: ChangeRequest, plan: RequestPlan, actor: Actor, options: CommitOptions, at: datetime
) -> UUID:
    def revise(resource_type: ResourceType, before: Attributes | None) -> Attributes | None:
        return plan.draft.after

    author = Actor(row.author_id, row.created_by, actor.request_id)
    spec = ChangeSpec(
        plan.draft.address,
        revise,
        at=at,
        message=actor.reason[:400],
        approval=Approval(row.id, row.digest, author),
    )
    return schedule_change(spec, actor=actor, options=options).id


def _cause(row: ChangeRequest, reviewers: str, actor: Actor) -> str:
    """Return the reason that history and audit log have for the change."""
    text = actor.reason or row.message
    return f"Change request {row.id} by {row.created_by}, approved by {reviewers}. {text}".strip()[:500]
