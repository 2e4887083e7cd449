"""States of change requests, and how many approvals they need. Pure."""

from __future__ import annotations

from enum import StrEnum


class RequestState(StrEnum):
    """rejected, published and withdrawn are final."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    PUBLISHED = "published"
    WITHDRAWN = "withdrawn"


PENDING = frozenset({RequestState.OPEN, RequestState.APPROVED})
# A change request is approved by somebody, also where no policy demands it.
LEAST_APPROVALS = 1


def required_approvals(required_by_policies: int) -> int:
    return max(required_by_policies, LEAST_APPROVALS)


def state_of(approvals: int, required: int) -> RequestState:
    """Return the state of a pending change request."""
    return RequestState.APPROVED if approvals >= required_approvals(required) else RequestState.OPEN
