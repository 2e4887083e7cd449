"""What happens when an answer does not come. Pure. The database's time is an argument.

Nothing is sent again, and nothing moves to another agent, while it may be us who do not hear: during the
grace after an outage, and for agents under an engaged fleet guard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from registry.dispatch.lifecycle import creation_timers, deletion_timers
from registry.dispatch.lifecycle.records import Assignment, Change, Resource
from registry.dispatch.lifecycle.states import AssignmentState, Goal
from registry.dispatch.lifecycle.timer_cases import AgentStanding, Due, TimerPolicy

__all__ = ["AgentStanding", "TimerPolicy", "next_due_at", "placement_due_at", "run_timers"]

_S = AssignmentState


def run_timers(
    resource: Resource,
    standings: Mapping[int, AgentStanding],
    policy: TimerPolicy,
    *,
    now: datetime,
    has_other: Callable[[], bool],
) -> Change:
    """Return what is due now. standings: by epoch. has_other: whether another agent could take it."""
    change = Change(resource)
    for assignment in resource.assignments:
        standing = standings[assignment.epoch]
        due_at = _due_at(resource, assignment, standing, policy)
        if due_at is None or due_at > now or standing is AgentStanding.GUARDED:
            continue
        due = Due(change.resource, assignment, standing, policy, now, has_other)
        change = change.then(_HANDLERS[assignment.state](due))
    placement_at = placement_due_at(change.resource, policy)
    return replace(change, places=placement_at is not None and placement_at <= now)


def next_due_at(
    resource: Resource, standings: Mapping[int, AgentStanding], policy: TimerPolicy
) -> datetime | None:
    """Return when `run_timers` should look at the resource again; None: only an answer changes it."""
    times = [_due_at(resource, attempt, standings[attempt.epoch], policy) for attempt in resource.assignments]
    times.append(placement_due_at(resource, policy))
    return min((time for time in times if time is not None), default=None)


def placement_due_at(resource: Resource, policy: TimerPolicy) -> datetime | None:
    """Return when an agent should be looked for; None if none is needed."""
    if resource.goal is not Goal.PRESENT or resource.current is not None or resource.deleted:
        return None
    if resource.placed_at is None:
        return resource.since
    shortest, longest = policy.placement
    pause: timedelta = min(longest, shortest * (1 << min(resource.placement_tries, 8)))
    return resource.placed_at + pause


def _due_at(
    resource: Resource, assignment: Assignment, standing: AgentStanding, policy: TimerPolicy
) -> datetime | None:
    is_gone, due_at = standing is AgentStanding.GONE, None
    match assignment.state:
        case _S.PENDING:
            due_at = creation_timers.pending_due_at(assignment, policy)
        case _S.QUEUED | _S.PROVISIONING | _S.RUNNING | _S.FAILED if is_gone:
            due_at = creation_timers.left_behind_due_at(assignment)
        case _S.RUNNING | _S.FAILED if assignment.alarmed:
            due_at = assignment.since
        case _S.QUEUED:
            due_at = creation_timers.queued_due_at(assignment, policy)
        case _S.PROVISIONING:
            due_at = creation_timers.provisioning_due_at(resource, assignment, policy)
        case _S.WITHDRAWN:
            due_at = deletion_timers.deletion_due_at(assignment, policy)
        case _S.STUCK if is_gone:
            due_at = assignment.since
    return due_at


_HANDLERS: dict[AssignmentState, Callable[[Due], Change]] = {
    _S.PENDING: creation_timers.pending,
    _S.QUEUED: creation_timers.queued,
    _S.PROVISIONING: creation_timers.provisioning,
    _S.RUNNING: creation_timers.finished,
    _S.FAILED: creation_timers.finished,
    _S.WITHDRAWN: deletion_timers.withdrawn,
    _S.STUCK: deletion_timers.give_up,
}
