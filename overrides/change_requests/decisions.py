"""Decide who may review a change request, and what may be done with it in its state. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from controlplane.errors import Conflict, NotIndependent
from overrides.approvals.request_states import LEAST_APPROVALS, PENDING, RequestState


class Way(StrEnum):
    """How the document of a change request changes the override."""

    ATTRIBUTES = "attributes"
    PATCH = "patch"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who wants to approve. people: the reviewer, and who stands behind the token in use."""

    id: UUID
    name: str
    is_person: bool
    people: frozenset[UUID]


@dataclass(frozen=True, slots=True)
class GivenApproval:
    reviewer: str
    people: frozenset[UUID]


def check_pending(state: RequestState) -> None:
    """Raise Conflict for a change request that is final."""
    if state not in PENDING:
        raise Conflict(f"The change request is {state}. Open a new one.")


def check_approved(approvals: int) -> None:
    """Raise Conflict for a change request that nobody approved, where no policy demands more."""
    if approvals < LEAST_APPROVALS:
        raise Conflict("Nobody has approved the change request. Ask another person to approve it.")


def check_independent(
    author: str, author_people: Collection[UUID], approvals: Sequence[GivenApproval], reviewer: Reviewer
) -> None:
    """Raise NotIndependent unless the reviewer is a person apart from the author and all other reviewers."""
    if not reviewer.is_person:
        raise NotIndependent(
            f"{reviewer.name} is no person. Only people approve: log in as yourself to approve it."
        )
    if not reviewer.people.isdisjoint(author_people):
        raise NotIndependent(
            f"You stand behind this change of {author}: as its author, or as creator of a token or service "
            "that is involved. Ask another person to approve it."
        )
    for approval in approvals:
        if not reviewer.people.isdisjoint(approval.people):
            raise NotIndependent(
                f"{approval.reviewer} approved it, and stands for the same person. Ask another person."
            )
