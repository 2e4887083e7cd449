"""Open, refresh, withdraw and comment on change requests."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from controlplane.database.clock import statement_now
from controlplane.identity.actors import Actor
from overrides import event_types
from overrides.approval_models import ChangeRequest, ChangeRequestComment
from overrides.approvals.request_states import RequestState
from overrides.change_requests.decisions import Way, check_pending
from overrides.change_requests.planning import (
    RequestedChange,
    RequestPlan,
    plan_request,
    rehearse,
    shown_plan,
)
from overrides.change_requests.records import record, snapshot
from overrides.change_requests.storage import locked_request
from overrides.loading.revisions import lock_revisions
from overrides.resolution.addresses import Address


@dataclass(frozen=True, slots=True)
class Proposal:
    """A requested change with what its author says about it. people: who stands behind the author."""

    change: RequestedChange
    people: frozenset[UUID]
    message: str = ""
    ticket: str = ""


@transaction.atomic
def open_request(proposal: Proposal, *, actor: Actor) -> ChangeRequest:
    """Store the change with its plan. It is validated now, like a write, but no freeze holds it.

    Raises InvalidRequest if it changes nothing, and like a write.
    """
    change = proposal.change
    row = ChangeRequest(
        resource_type=change.address.resource_type,
        **change.address.scope.segments,
        way=change.way,
        document=change.document,
        state=RequestState.OPEN,
        message=proposal.message,
        ticket=proposal.ticket,
        author_id=actor.principal_id,
        created_by=actor.name,
        people=sorted(map(str, proposal.people)),
    )
    _plan(row, plan_request(change, actor), actor)
    row.save(force_insert=True)
    row.refresh_from_db(fields=["created_at", "planned_at"])
    record(event_types.REQUEST_OPENED, row, actor, before=None)
    return row


@transaction.atomic
def refresh_request(request_id: UUID, *, actor: Actor) -> ChangeRequest:
    """Plan the change again for the current state. Approvals of another plan fall.

    Raises Conflict if it is not pending, and like a write.
    """
    lock_revisions()
    row = locked_request(request_id)
    check_pending(RequestState(row.state))
    plan = plan_request(change_of(row), actor)
    if plan.digest == row.digest:
        return row
    before = snapshot(row)
    row.approvals.all().delete()
    _plan(row, plan, actor)
    row.state, row.planned_at = RequestState.OPEN, statement_now()
    row.save()
    record(event_types.REQUEST_REFRESHED, row, actor, before=before)
    return row


@transaction.atomic
def withdraw_request(request_id: UUID, *, actor: Actor, comment: str = "") -> ChangeRequest:
    """Give the change up. Raises Conflict if it is not pending."""
    row = locked_request(request_id)
    check_pending(RequestState(row.state))
    before = snapshot(row)
    close(row, RequestState.WITHDRAWN, actor)
    record(event_types.REQUEST_WITHDRAWN, row, actor, before=before, comment=comment)
    return row


@transaction.atomic
def comment_on_request(request_id: UUID, text: str, *, actor: Actor) -> ChangeRequestComment:
    """Add a comment, in every state."""
    row = locked_request(request_id)
    comment = ChangeRequestComment.objects.create(change_request=row, author=actor.name, text=text)
    comment.refresh_from_db(fields=["created_at"])
    record(event_types.REQUEST_COMMENTED, row, actor, before=snapshot(row), comment=text)
    return comment


def close(row: ChangeRequest, state: RequestState, actor: Actor) -> None:
    """Put the change request into a final state."""
    row.state, row.closed_at, row.closed_by = state, statement_now(), actor.name
    row.save()


def change_of(row: ChangeRequest) -> RequestedChange:
    return RequestedChange(Address(row.resource_type, row.scope), Way(row.way), row.document)


def _plan(row: ChangeRequest, plan: RequestPlan, actor: Actor) -> None:
    row.plan = shown_plan(rehearse(plan, actor))
    row.attributes, row.planned_version, row.digest = plan.draft.after, plan.base_version, plan.digest
