"""A resource with its assignments, and what changes of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from registry.dispatch.lifecycle.states import SETTLED, WANTED, AssignmentState, Goal, ResourceState


class Command(StrEnum):
    """What an agent is sent. The values are the types of the CloudEvents."""

    CREATE = "dcm.request.create"
    DELETE = "dcm.request.delete"
    CANCEL = "dcm.request.cancel"


class Verdict(StrEnum):
    """What an entry of the timeline did."""

    SENT = "sent"
    APPLIED = "applied"
    NOTED = "noted"
    IGNORED = "ignored"
    ALARM = "alarm"


@dataclass(frozen=True, slots=True)
class AgentRef:
    """An agent as an assignment remembers it: the agent itself may be removed.

    id: as text. topic: its subject for requests. channel: "nats" or "https".
    """

    id: str
    name: str
    topic: str
    channel: str = "nats"


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt at one agent.

    sent_at: when the create was last requested; tries: how often. deletion_*: the same of the deletion.
    proven: an answer showed that something exists. removed: a later one showed that it no longer does.
    status_at: the provider's time of its last status. cancel_answered: by whatever answer; cancel_rejected:
    the agent had sent the request to its provider. refusals: errors since the deletion. deletion_held: until
    the provider is healthy. deletion_doubted: the agent reported a completed deletion, perhaps of a repeated
    create that it held. alarmed: of the current wait.
    """

    epoch: int
    agent: AgentRef
    state: AssignmentState
    since: datetime
    reason: str = ""
    sent_at: datetime | None = None
    tries: int = 0
    proven: bool = False
    removed: bool = False
    status_at: datetime | None = None
    cancel_sent: bool = False
    cancel_answered: bool = False
    cancel_rejected: bool = False
    deletion_sent_at: datetime | None = None
    deletion_tries: int = 0
    deletion_accepted_at: datetime | None = None
    deletion_held: bool = False
    deletion_doubted: bool = False
    refusals: int = 0
    alarmed: bool = False

    @property
    def wanted(self) -> bool:
        return self.state in WANTED

    @property
    def settled(self) -> bool:
        return self.state in SETTLED

    @property
    def may_exist(self) -> bool:
        """True if the last evidence says that something exists."""
        return self.proven and not self.removed


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource with all its assignments, in the order of their epochs.

    placed_at: when placement was last tried. reason: why it has no agent, or what its provider says.
    deleted: once true, it stays true.
    """

    id: str
    service_type: str
    goal: Goal
    since: datetime
    assignments: tuple[Assignment, ...] = ()
    reason: str = ""
    placement_tries: int = 0
    placed_at: datetime | None = None
    status: str = ""
    output: Mapping[str, Any] | None = None
    deleted: bool = False

    @property
    def current(self) -> Assignment | None:
        """The assignment that is wanted: at most one is."""
        return next((attempt for attempt in reversed(self.assignments) if attempt.wanted), None)

    @property
    def last_epoch(self) -> int:
        return max((attempt.epoch for attempt in self.assignments), default=0)

    @property
    def state(self) -> ResourceState:
        """The state that people see: it follows from the goal and the assignments."""
        if self.deleted:
            return ResourceState.DELETED
        if self.goal is Goal.PRESENT:
            current = self.current
            return ResourceState(current.state.value) if current else ResourceState.PENDING
        if any(attempt.state is AssignmentState.STUCK for attempt in self.assignments):
            return ResourceState.DELETION_FAILED
        settled = all(attempt.settled for attempt in self.assignments)
        if self.goal is Goal.DELETED:
            return ResourceState.DELETED if settled else ResourceState.DELETING
        return ResourceState.CANCELLED if settled else ResourceState.CANCELLING

    def assignment(self, epoch: int) -> Assignment:
        return next(attempt for attempt in self.assignments if attempt.epoch == epoch)

    def last_at(self, agent: AgentRef) -> Assignment | None:
        """The last assignment to the agent: whatever exists there belongs to it."""
        return next((attempt for attempt in reversed(self.assignments) if attempt.agent.id == agent.id), None)

    def sealed(self) -> Resource:
        """Make the end final: what appears later is deleted without changing it. Clear the status."""
        if self.state is not ResourceState.DELETED:
            return replace(self, deleted=False)
        return replace(self, deleted=True, status="")

    def with_assignment(self, changed: Assignment) -> Resource:
        """Replace the assignment of the same epoch, or add it."""
        rest = tuple(attempt for attempt in self.assignments if attempt.epoch != changed.epoch)
        return replace(self, assignments=tuple(sorted((*rest, changed), key=lambda attempt: attempt.epoch)))


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the timeline. what: the event type, or a short name. event_id: of the CloudEvent."""

    epoch: int
    what: str
    verdict: Verdict
    text: str = ""
    event_id: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What a step does. commands: to send, in this order. settles: answered commands, by epoch.

    places: an agent should be chosen now.
    """

    resource: Resource
    commands: tuple[tuple[Command, int], ...] = ()
    entries: tuple[Entry, ...] = ()
    settles: tuple[tuple[Command, int], ...] = ()
    places: bool = False
    alarms: tuple[Entry, ...] = field(default=())

    def then(self, later: Change) -> Change:
        """Join with a step that was decided on this one's resource."""
        return Change(
            later.resource,
            self.commands + later.commands,
            self.entries + later.entries,
            self.settles + later.settles,
            later.places,
            self.alarms + later.alarms,
        )


def event_id(resource_id: str, command: Command, epoch: int) -> str:
    """Return the id of the CloudEvent, which stays the same when it is sent again.

    That of a create is the resource's id: agents pass it on as Idempotency-Key (dispatch.md A2, A3).
    """
    if command is Command.CREATE:
        return resource_id
    return f"{resource_id}.{'d' if command is Command.DELETE else 'c'}{epoch}"
