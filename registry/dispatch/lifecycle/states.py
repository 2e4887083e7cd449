"""States of resources and of their assignments to agents, and which follows which. Pure.

Wire contract: dispatch.md, section B.
"""

from __future__ import annotations

from enum import StrEnum


class Goal(StrEnum):
    """What was last requested for a resource."""

    PRESENT = "present"
    CANCELLED = "cancelled"
    DELETED = "deleted"


class ResourceState(StrEnum):
    # Waits for an agent, or for the first answer of one.
    PENDING = "pending"
    # The agent has the request, and waits for its provider.
    QUEUED = "queued"
    PROVISIONING = "provisioning"
    RUNNING = "running"
    FAILED = "failed"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    DELETING = "deleting"
    # An agent refused to delete it, or never answered: an operator must decide.
    DELETION_FAILED = "deletion_failed"
    DELETED = "deleted"


class AssignmentState(StrEnum):
    PENDING = "pending"
    QUEUED = "queued"
    PROVISIONING = "provisioning"
    RUNNING = "running"
    FAILED = "failed"
    # No longer wanted: what exists is being deleted.
    WITHDRAWN = "withdrawn"
    # The deletion was refused or unanswered too often.
    STUCK = "stuck"
    # Nothing exists, as far as anybody can know.
    CLOSED = "closed"
    # An operator or a timer gave up; something may exist.
    ABANDONED = "abandoned"


WANTED = frozenset(
    {
        AssignmentState.PENDING,
        AssignmentState.QUEUED,
        AssignmentState.PROVISIONING,
        AssignmentState.RUNNING,
        AssignmentState.FAILED,
    }
)
# An agent with an assignment in one of these may get the same resource again.
SETTLED = frozenset({AssignmentState.CLOSED, AssignmentState.ABANDONED})
# The states in which an assignment waits for a first outcome.
UNFINISHED = frozenset({AssignmentState.PENDING, AssignmentState.QUEUED, AssignmentState.PROVISIONING})

_S = AssignmentState
TRANSITIONS: dict[AssignmentState, frozenset[AssignmentState]] = {
    _S.PENDING: frozenset({_S.QUEUED, _S.PROVISIONING, _S.RUNNING, _S.FAILED, _S.WITHDRAWN, _S.ABANDONED}),
    _S.QUEUED: frozenset({_S.PROVISIONING, _S.RUNNING, _S.FAILED, _S.WITHDRAWN, _S.ABANDONED}),
    _S.PROVISIONING: frozenset({_S.RUNNING, _S.FAILED, _S.WITHDRAWN, _S.ABANDONED}),
    # A live resource can fail, and can be changed by its provider.
    _S.RUNNING: frozenset({_S.PROVISIONING, _S.FAILED, _S.WITHDRAWN, _S.ABANDONED}),
    # Its provider may repair it.
    _S.FAILED: frozenset({_S.PROVISIONING, _S.RUNNING, _S.WITHDRAWN, _S.ABANDONED}),
    _S.WITHDRAWN: frozenset({_S.CLOSED, _S.STUCK, _S.ABANDONED}),
    # A person tried again, or the agent answered after all.
    _S.STUCK: frozenset({_S.WITHDRAWN, _S.CLOSED, _S.ABANDONED}),
    # A late answer showed that something exists after all.
    _S.CLOSED: frozenset({_S.WITHDRAWN}),
    _S.ABANDONED: frozenset({_S.CLOSED}),
}

_R = ResourceState
# The states in which a resource has not run yet, or is being changed.
_BEFORE_START = frozenset({_R.PENDING, _R.QUEUED, _R.PROVISIONING})
# `deleted` is final: what appears later is deleted without changing it.
RESOURCE_TRANSITIONS: dict[ResourceState, frozenset[ResourceState]] = {
    **{
        state: frozenset(ResourceState) - {state}
        for state in (_R.PENDING, _R.QUEUED, _R.PROVISIONING, _R.RUNNING, _R.FAILED)
    },
    _R.CANCELLING: frozenset({_R.CANCELLED, _R.PENDING, _R.DELETING, _R.DELETION_FAILED, _R.DELETED}),
    _R.CANCELLED: frozenset({_R.CANCELLING, _R.PENDING, _R.DELETING, _R.DELETED}),
    _R.DELETING: frozenset({_R.DELETION_FAILED, _R.DELETED}),
    _R.DELETION_FAILED: frozenset({_R.DELETING, _R.CANCELLING, _R.CANCELLED, _R.DELETED, _R.PENDING}),
    _R.DELETED: frozenset(),
}


def is_start(before: ResourceState, after: ResourceState) -> bool:
    """Return whether a resource that waited runs now. A failed one that recovers was not waited for."""
    return before in _BEFORE_START and after is ResourceState.RUNNING
