"""What happens when a request is not answered, or not finished. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from registry.dispatch.lifecycle.intents import withdraw
from registry.dispatch.lifecycle.records import Assignment, Change, Command, Entry, Resource, Verdict
from registry.dispatch.lifecycle.states import AssignmentState
from registry.dispatch.lifecycle.timer_cases import AgentStanding, Due, TimerPolicy, in_minutes

_S = AssignmentState


def pending_due_at(assignment: Assignment, policy: TimerPolicy) -> datetime:
    return _sent_at(assignment) + _pause(assignment, policy)


def queued_due_at(assignment: Assignment, policy: TimerPolicy) -> datetime:
    return max(assignment.since, _sent_at(assignment)) + policy.queued


def provisioning_due_at(resource: Resource, assignment: Assignment, policy: TimerPolicy) -> datetime | None:
    last = max(assignment.since, _sent_at(assignment))
    may_send_again = (
        _has_former_attempt(resource, assignment) and last < assignment.since + 3 * policy.provisioning
    )
    return None if assignment.alarmed and not may_send_again else last + policy.provisioning


def left_behind_due_at(assignment: Assignment) -> datetime | None:
    """Of an assignment whose agent is gone."""
    if assignment.state in (_S.RUNNING, _S.PROVISIONING, _S.FAILED) and assignment.alarmed:
        return None
    return assignment.since


def pending(due: Due) -> Change:
    tries, policy = due.assignment.tries, due.policy
    if due.standing is AgentStanding.UNSENT:
        return due.restart(sent_at=due.now)
    if due.standing is AgentStanding.HEARD and tries <= policy.pending_tries:
        return _send_again(due, f"{due.agent} has not answered for {in_minutes(policy.pending)}.")
    if due.standing is AgentStanding.GONE:
        return _move_on(due, f"{due.agent} is retired or removed.")
    if due.has_other():
        return _move_on(due, f"{due.agent} does not answer.")
    if due.standing is AgentStanding.HEARD:
        return _send_again(due, f"{due.agent} does not answer, and no other agent can take the request.")
    return _wait_on(due, f"{due.agent} sends no heartbeats, and no other agent can take the request.")


def queued(due: Due) -> Change:
    if due.standing is AgentStanding.GONE:
        return _move_on(due, f"{due.agent} is retired or removed.")
    if due.has_other():
        return _move_on(due, f"{due.agent} has held the request for {in_minutes(due.policy.queued)}.")
    reason = f"{due.agent} holds the request until its provider is healthy. No other agent can take it."
    if due.standing is AgentStanding.HEARD:
        # An agent that restarted may have lost it.
        return _send_again(due, reason)
    return _wait_on(due, reason)


def provisioning(due: Due) -> Change:
    if due.standing is AgentStanding.GONE:
        return left_behind(due)
    reason = f"The provider has not reported a result for {in_minutes(due.policy.provisioning)}."
    change = Change(due.resource) if due.assignment.alarmed else due.alarm(reason)
    if not _has_former_attempt(due.resource, due.assignment):
        return change
    # The answer may have been a late one to the former attempt, and this request lost (dispatch.md A9).
    again = replace(due, resource=change.resource, assignment=change.resource.assignment(due.epoch))
    return change.then(_send_again(again, reason))


def finished(due: Due) -> Change:
    if due.standing is AgentStanding.GONE:
        return left_behind(due)
    reason = f"{due.agent} is back."
    changed = replace(due.assignment, alarmed=False, reason=reason)
    entry = Entry(due.epoch, "back", Verdict.NOTED, reason)
    return Change(due.resource.with_assignment(changed), entries=(entry,))


def left_behind(due: Due) -> Change:
    """Show that nobody looks after it. It may still run, so it is not moved: its owner must decide."""
    reason = f"{due.agent} is retired or removed, so it is unknown whether the resource still exists."
    return due.alarm(reason, is_shown=True)


def _send_again(due: Due, reason: str) -> Change:
    changed = replace(due.assignment, sent_at=due.now, tries=due.assignment.tries + 1, reason=reason)
    return due.send((Command.CREATE,), changed, reason)


def _wait_on(due: Due, reason: str) -> Change:
    change = due.restart(sent_at=due.now)
    if due.assignment.reason == reason:
        return change
    changed = replace(change.resource.assignment(due.epoch), reason=reason)
    entry = Entry(due.epoch, "waiting", Verdict.NOTED, reason)
    return Change(due.resource.with_assignment(changed), entries=(entry,))


def _move_on(due: Due, reason: str) -> Change:
    change = withdraw(due.resource, due.epoch, reason, now=due.now, cancels=True)
    waiting = replace(change.resource, placed_at=None, placement_tries=0)
    return replace(change, resource=waiting)


def _sent_at(assignment: Assignment) -> datetime:
    return assignment.sent_at or assignment.since


def _pause(assignment: Assignment, policy: TimerPolicy) -> timedelta:
    """Return the pause after the last send; it doubles while there is no other agent."""
    more = max(0, assignment.tries - policy.pending_tries - 1)
    pause: timedelta = policy.pending * (1 << min(more, 8))
    return min(max(policy.longest, policy.pending), pause)


def _has_former_attempt(resource: Resource, assignment: Assignment) -> bool:
    return any(
        attempt.agent.id == assignment.agent.id and attempt.epoch < assignment.epoch
        for attempt in resource.assignments
    )
