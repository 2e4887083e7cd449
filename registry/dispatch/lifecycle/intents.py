"""What people request of a resource: placement, deletion, cancellation, another attempt. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from registry.dispatch.lifecycle.records import (
    AgentRef,
    Assignment,
    Change,
    Command,
    Entry,
    Resource,
    Verdict,
)
from registry.dispatch.lifecycle.states import UNFINISHED, AssignmentState, Goal, ResourceState

_S = AssignmentState


def assign(resource: Resource, agent: AgentRef, reason: str, *, now: datetime) -> Change:
    """Give the resource to the agent, with a new epoch. It must have no wanted assignment."""
    assert resource.current is None
    epoch = resource.last_epoch + 1
    former = resource.last_at(agent)
    # Late statuses of a former attempt at the same agent are known by their time.
    status_at = former.status_at if former else None
    created = Assignment(epoch, agent, _S.PENDING, now, reason, sent_at=now, tries=1, status_at=status_at)
    empty = replace(resource, reason="", status="", output=None)
    placed = replace(empty, placed_at=now, placement_tries=0).with_assignment(created)
    entries = (
        Entry(epoch, "assigned", Verdict.APPLIED, f"To {agent.name}: {reason}"),
        Entry(epoch, Command.CREATE.value, Verdict.SENT),
    )
    return Change(placed, commands=((Command.CREATE, epoch),), entries=entries)


def leave_unplaced(resource: Resource, reason: str, *, now: datetime) -> Change:
    """Note why no agent can take the resource now."""
    waiting = replace(resource, reason=reason, placed_at=now, placement_tries=resource.placement_tries + 1)
    return Change(waiting)


def withdraw(resource: Resource, epoch: int, reason: str, *, now: datetime, cancels: bool) -> Change:
    """End an assignment: delete what exists, and with `cancels` first cancel what does not exist yet."""
    assignment = resource.assignment(epoch)
    changed = replace(
        assignment,
        state=_S.WITHDRAWN,
        since=now,
        reason=reason,
        cancel_sent=cancels or assignment.cancel_sent,
        deletion_sent_at=now,
        deletion_tries=1,
        deletion_accepted_at=None,
        deletion_held=False,
        # The create's error has come already.
        refusals=1 if assignment.state is _S.FAILED and not assignment.may_exist else 0,
        alarmed=False,
    )
    commands = ((Command.CANCEL, epoch), (Command.DELETE, epoch)) if cancels else ((Command.DELETE, epoch),)
    entries = [Entry(epoch, "withdrawn", Verdict.APPLIED, reason)]
    entries += [Entry(epoch, command.value, Verdict.SENT) for command, _ in commands]
    # A create that was not sent yet need not be sent any more.
    settles = ((Command.CREATE, epoch),)
    ended = replace(resource, reason="").with_assignment(changed)
    return Change(ended, commands, tuple(entries), settles)


def delete(resource: Resource, reason: str, *, now: datetime) -> Change:
    """Have everything deleted. No cancel: an agent that holds the create drops both (dispatch.md A7)."""
    change = _end(replace(resource, goal=Goal.DELETED), reason, now=now, cancels=False)
    return change.then(_retry_deletions(change.resource, reason, now=now))


def cancel(resource: Resource, reason: str, *, now: datetime) -> Change:
    """End the attempt. The resource stays, and can be tried again."""
    return _end(replace(resource, goal=Goal.CANCELLED), reason, now=now, cancels=True)


def can_cancel(resource: Resource) -> bool:
    """True if the resource is wanted, and does not run yet."""
    current = resource.current
    return resource.goal is Goal.PRESENT and (current is None or current.state in UNFINISHED)


def can_retry(resource: Resource) -> bool:
    """True if it failed, was cancelled, waits for an agent, or if something could not be deleted."""
    if any(attempt.state is _S.STUCK for attempt in resource.assignments):
        return True
    if resource.goal is Goal.PRESENT:
        return resource.current is None or resource.current.state is _S.FAILED
    return resource.state is ResourceState.CANCELLED


def retry(resource: Resource, reason: str, *, now: datetime) -> Change:
    """Try again: to delete what could not be deleted, or to place what failed or was cancelled."""
    if resource.goal is Goal.DELETED:
        return _retry_deletions(resource, reason, now=now)
    wanted = replace(resource, goal=Goal.PRESENT, placement_tries=0)
    current = resource.current
    change = _retry_deletions(wanted, reason, now=now)
    if current is not None and current.state is _S.FAILED:
        change = change.then(withdraw(change.resource, current.epoch, reason, now=now, cancels=True))
    return replace(change, places=change.resource.current is None)


def _retry_deletions(resource: Resource, reason: str, *, now: datetime) -> Change:
    change = Change(resource)
    for attempt in resource.assignments:
        if attempt.state is _S.STUCK:
            change = change.then(withdraw(change.resource, attempt.epoch, reason, now=now, cancels=False))
    return change


def abandon(resource: Resource, epoch: int, reason: str, *, now: datetime) -> Change:
    """Give up an assignment: what it may have created is no longer looked after."""
    changed = replace(resource.assignment(epoch), state=_S.ABANDONED, since=now, reason=reason)
    settles = tuple((command, epoch) for command in Command)
    entries = (Entry(epoch, "abandoned", Verdict.APPLIED, reason),)
    return Change(resource.with_assignment(changed), entries=entries, settles=settles)


def abandon_stuck(resource: Resource, reason: str, *, now: datetime) -> Change:
    """Give up what could not be deleted, so that its agent may have the resource again."""
    change = Change(resource)
    for attempt in resource.assignments:
        if attempt.state is _S.STUCK:
            change = change.then(abandon(change.resource, attempt.epoch, reason, now=now))
    return change


def abandon_all(resource: Resource, reason: str, *, now: datetime) -> Change:
    """Delete the record by force: every unsettled assignment is given up."""
    change = Change(replace(resource, goal=Goal.DELETED))
    for attempt in resource.assignments:
        if not attempt.settled:
            change = change.then(abandon(change.resource, attempt.epoch, reason, now=now))
    return change


def _end(resource: Resource, reason: str, *, now: datetime, cancels: bool) -> Change:
    change = Change(resource)
    current = resource.current
    if current is not None:
        change = change.then(withdraw(change.resource, current.epoch, reason, now=now, cancels=cancels))
    return change
