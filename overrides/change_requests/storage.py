"""Change requests in the database: who sees them, and what is theirs to approve."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q

from controlplane.database.scoped import within
from controlplane.errors import UnknownChangeRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.approval_models import ChangeRequest
from overrides.approvals.decisions import required_by
from overrides.approvals.request_states import RequestState, required_approvals
from overrides.approvals.storage import policies_at
from overrides.change_requests.decisions import GivenApproval


def visible(caller: Caller) -> Q:
    return within(caller.scopes_for(Action.OVERRIDE_READ))


def assigned_to(caller: Caller) -> Q:
    """Match open change requests that the caller may approve, and has not approved.

    Who stands behind another's token is refused only when approving.
    """
    if caller.principal_id is None:
        return Q(pk__in=[])
    mine = Q(author_id=caller.principal_id) | Q(people__contains=[str(caller.principal_id)])
    approved = Q(approvals__reviewer_id=caller.principal_id)
    reachable = within(caller.scopes_for(Action.OVERRIDE_APPROVE))
    return Q(state=RequestState.OPEN) & reachable & ~mine & ~approved


def authored_by(caller: Caller) -> Q:
    if caller.principal_id is None:
        return Q(pk__in=[])
    return Q(author_id=caller.principal_id)


def find_request(request_id: UUID, caller: Caller) -> ChangeRequest:
    """Raises UnknownChangeRequest, also if the caller cannot read it."""
    row = ChangeRequest.objects.filter(visible(caller), id=request_id).first()
    if row is None:
        raise missing_request(request_id)
    return row


def locked_request(request_id: UUID) -> ChangeRequest:
    """Return the row, locked until the transaction ends. Raises UnknownChangeRequest."""
    row = ChangeRequest.objects.select_for_update().filter(id=request_id).first()
    if row is None:
        raise missing_request(request_id)
    return row


def missing_request(request_id: UUID) -> UnknownChangeRequest:
    return UnknownChangeRequest(f"Change request {request_id} does not exist.")


def approvals_of(row: ChangeRequest) -> list[GivenApproval]:
    return [
        GivenApproval(approval.reviewer, frozenset(map(UUID, approval.people)))
        for approval in row.approvals.order_by("created_at", "id")
    ]


def required_for(row: ChangeRequest) -> int:
    """Return how many approvals the change needs now."""
    return required_approvals(required_by(policies_at([row.scope])))
