"""What happens when a deletion is not answered, or accepted and not completed. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from registry.dispatch.lifecycle.intents import abandon
from registry.dispatch.lifecycle.records import Assignment, Change, Command, Entry, Verdict
from registry.dispatch.lifecycle.states import AssignmentState
from registry.dispatch.lifecycle.timer_cases import AgentStanding, Due, TimerPolicy, in_minutes

_S = AssignmentState


def deletion_due_at(assignment: Assignment, policy: TimerPolicy) -> datetime:
    sent_at = assignment.deletion_sent_at or assignment.since
    if assignment.deletion_accepted_at is not None:
        return max(sent_at, assignment.deletion_accepted_at) + policy.completion
    return sent_at + (policy.queued if assignment.deletion_held else policy.deletion)


def withdrawn(due: Due) -> Change:
    if due.standing is AgentStanding.GONE:
        return give_up(due)
    if due.standing in (AgentStanding.UNSENT, AgentStanding.SILENT):
        # The message waits for the agent, so no try is counted.
        return due.restart(deletion_sent_at=due.now)
    if due.assignment.deletion_accepted_at is not None:
        return _incomplete(due, due.assignment.deletion_accepted_at)
    tries = due.assignment.deletion_tries
    if tries >= due.policy.deletion_tries:
        return _stick(due, f"{due.agent} did not answer any of {tries} deletions.")
    return _send_again(due, f"{due.agent} has not answered.")


def give_up(due: Due) -> Change:
    return _abandon(due, f"{due.agent} is retired or removed.")


def _incomplete(due: Due, accepted_at: datetime) -> Change:
    policy = due.policy
    if not due.assignment.may_exist:
        return _close(due, f"{due.agent} accepted the deletion, and nothing ever showed that it exists.")
    if due.now >= accepted_at + policy.give_up:
        return _abandon(
            due,
            f"{due.agent} accepted the deletion, but did not complete it in {in_minutes(policy.give_up)}.",
        )
    reason = f"{due.agent} accepted the deletion, but did not complete it in {in_minutes(policy.completion)}."
    change = Change(due.resource) if due.assignment.alarmed else due.alarm(reason, is_shown=True)
    again = replace(due, resource=change.resource, assignment=change.resource.assignment(due.epoch))
    return change.then(_send_again(again, reason))


def _send_again(due: Due, reason: str) -> Change:
    assignment = due.assignment
    changed = replace(assignment, deletion_sent_at=due.now, deletion_tries=assignment.deletion_tries + 1)
    cancels = assignment.cancel_sent and not assignment.cancel_answered
    commands = (Command.CANCEL, Command.DELETE) if cancels else (Command.DELETE,)
    return due.send(commands, changed, reason)


def _close(due: Due, reason: str) -> Change:
    changed = replace(due.assignment, state=_S.CLOSED, since=due.now, reason=reason, alarmed=False)
    entry = Entry(due.epoch, "closed", Verdict.APPLIED, reason)
    settles = tuple((command, due.epoch) for command in Command)
    return Change(due.resource.with_assignment(changed), entries=(entry,), settles=settles)


def _stick(due: Due, reason: str) -> Change:
    changed = replace(due.assignment, state=_S.STUCK, since=due.now, reason=reason, alarmed=False)
    entry = Entry(due.epoch, "stuck", Verdict.ALARM, reason)
    return Change(due.resource.with_assignment(changed), entries=(entry,), alarms=(entry,))


def _abandon(due: Due, reason: str) -> Change:
    text = f"{reason} The deletion is given up: something may still exist there."
    change = abandon(due.resource, due.epoch, text, now=due.now)
    return replace(change, alarms=(Entry(due.epoch, "abandoned", Verdict.ALARM, text),))
