"""An answer together with the assignment that it is about, and the steps that all answers share. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from registry.dispatch.lifecycle.records import Assignment, Change, Command, Entry, Resource, Verdict
from registry.dispatch.lifecycle.states import AssignmentState

_S = AssignmentState


class AnswerType(StrEnum):
    """The values are the types of the CloudEvents; statuses of providers have one type for each service."""

    CREATION_ACKNOWLEDGED = "dcm.agent.creation-acknowledged"
    DELETION_ACKNOWLEDGED = "dcm.agent.deletion-acknowledged"
    REQUEST_QUEUED = "dcm.agent.request-queued"
    CANCEL_ACKNOWLEDGED = "dcm.agent.cancel-acknowledged"
    CANCEL_REJECTED = "dcm.agent.cancel-rejected"
    ERROR = "dcm.agent.error"
    STATUS = "dcm.status"


class StatusClass(StrEnum):
    """What a provider's status means."""

    PROGRESSING = "progressing"
    LIVE = "live"
    FAILED = "failed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Answer:
    """text: the agent's or the provider's words. completed: of DELETION_ACKNOWLEDGED: nothing is left.

    status, status_class, output: of STATUS; at: when its provider sent it, by its own clock.
    """

    type: AnswerType
    text: str = ""
    completed: bool = False
    status: str = ""
    status_class: StatusClass | None = None
    output: Mapping[str, Any] | None = None
    at: datetime | None = None
    event_id: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    resource: Resource
    assignment: Assignment
    answer: Answer
    now: datetime

    def ignore(self, why: str) -> Change:
        return Change(self.resource, entries=(self.entry(Verdict.IGNORED, why),))

    def note(self, text: str, **changes: Any) -> Change:
        """Keep the state, and change facts of the assignment."""
        changed = replace(self.assignment, **changes)
        return Change(self.resource.with_assignment(changed), entries=(self.entry(Verdict.NOTED, text),))

    def move(self, state: AssignmentState, text: str, **changes: Any) -> Change:
        if state is self.assignment.state:
            return self.note(text, **changes)
        facts = {"alarmed": False, **changes}
        changed = replace(self.assignment, state=state, since=self.now, reason=text, **facts)
        return Change(self.resource.with_assignment(changed), entries=(self.entry(Verdict.APPLIED, text),))

    def close(self, text: str, **changes: Any) -> Change:
        """Nothing exists: no answer is expected any more."""
        if self.assignment.state is _S.CLOSED:
            return self.note(text, **changes)
        epoch = self.assignment.epoch
        return replace(
            self.move(_S.CLOSED, text, **changes), settles=tuple((command, epoch) for command in Command)
        )

    def stick(self, text: str, **changes: Any) -> Change:
        """The deletion failed: an operator must decide."""
        stuck = self.move(_S.STUCK, text, **changes)
        epoch = self.assignment.epoch
        alarm = Entry(epoch, "stuck", Verdict.ALARM, text)
        settles = tuple((command, epoch) for command in Command)
        return replace(stuck, entries=(*stuck.entries, alarm), alarms=(alarm,), settles=settles)

    def compensate(self, **changes: Any) -> Change:
        """Something exists at an agent that should have nothing: have it deleted, unless it is already."""
        state = self.assignment.state
        if state is _S.CLOSED:
            return self._reopen(**changes)
        if state is not _S.ABANDONED:
            return self.note("It exists; its deletion is under way.", **changes)
        text = "It exists, although its deletion was given up: delete it by hand."
        if self.assignment.alarmed:
            return self.ignore(text)
        change = self.note(text, alarmed=True, **changes)
        alarm = Entry(self.assignment.epoch, "exists", Verdict.ALARM, text)
        return replace(change, alarms=(alarm,))

    def _reopen(self, **changes: Any) -> Change:
        facts = {
            "deletion_sent_at": self.now,
            "deletion_tries": 1,
            "deletion_accepted_at": None,
            "deletion_held": False,
            "deletion_doubted": False,
            "refusals": 0,
            **changes,
        }
        epoch, text = self.assignment.epoch, "It exists after all: it is being deleted."
        change = self.move(_S.WITHDRAWN, text, **facts)
        entry = Entry(epoch, Command.DELETE.value, Verdict.SENT, "It exists after all.")
        return replace(change, commands=((Command.DELETE, epoch),), entries=(*change.entries, entry))

    def entry(self, verdict: Verdict, text: str) -> Entry:
        what = self.answer.type.value
        return Entry(self.assignment.epoch, what, verdict, text, self.answer.event_id)
