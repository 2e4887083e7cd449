"""What the timers of a resource decide with: policy, standings of agents, an overdue assignment. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from registry.dispatch.lifecycle.records import Assignment, Change, Command, Entry, Resource, Verdict


@dataclass(frozen=True, slots=True)
class TimerPolicy:
    """Defaults: dispatch.md, section B, and environment-agents.md 5.3.

    pending, queued: until another agent is tried. pending_tries: sends to the same agent before that.
    longest: between two sends while there is no other agent. provisioning: until the alarm. deletion: until
    it is sent again, deletion_tries times. completion: of an accepted deletion, until the alarm and another
    send; give_up: until it is given up. placement: the shortest and longest pause between two looks for an
    agent.
    """

    pending: timedelta = timedelta(seconds=60)
    pending_tries: int = 3
    longest: timedelta = timedelta(minutes=15)
    queued: timedelta = timedelta(seconds=300)
    provisioning: timedelta = timedelta(minutes=15)
    deletion: timedelta = timedelta(seconds=60)
    deletion_tries: int = 10
    completion: timedelta = timedelta(minutes=15)
    give_up: timedelta = timedelta(hours=24)
    placement: tuple[timedelta, timedelta] = (timedelta(seconds=5), timedelta(seconds=60))


class AgentStanding(StrEnum):
    """How an assignment's agent can be reached.

    HEARD: it sends heartbeats. UNSENT: NATS has not stored its messages yet. SILENT: it is unavailable.
    GUARDED: unknown, or under an engaged guard. GONE: retired or removed.
    """

    HEARD = "heard"
    UNSENT = "unsent"
    SILENT = "silent"
    GUARDED = "guarded"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Due:
    """has_other: whether another agent could take the resource."""

    resource: Resource
    assignment: Assignment
    standing: AgentStanding
    policy: TimerPolicy
    now: datetime
    has_other: Callable[[], bool]

    @property
    def epoch(self) -> int:
        return self.assignment.epoch

    @property
    def agent(self) -> str:
        return self.assignment.agent.name

    def restart(self, **times: datetime) -> Change:
        """Start the wait again without a try: the agent could not answer."""
        return Change(self.resource.with_assignment(replace(self.assignment, **times)))  # type: ignore[arg-type]  # times by name

    def alarm(self, reason: str, *, is_shown: bool = False) -> Change:
        """Tell operators once for each wait. shown: also as the reason of the resource's state."""
        changed = replace(self.assignment, alarmed=True)
        resource = self.resource
        if is_shown:
            resource, changed = replace(resource, reason=""), replace(changed, reason=reason)
        entry = Entry(self.epoch, "overdue", Verdict.ALARM, reason)
        return Change(resource.with_assignment(changed), entries=(entry,), alarms=(entry,))

    def send(self, commands: tuple[Command, ...], changed: Assignment, reason: str) -> Change:
        """Send commands again; each replaces the earlier message."""
        numbered = tuple((command, self.epoch) for command in commands)
        entries = tuple(Entry(self.epoch, command.value, Verdict.SENT, reason) for command in commands)
        return Change(self.resource.with_assignment(changed), numbered, entries, settles=numbered)


def in_minutes(duration: timedelta) -> str:
    seconds = int(duration.total_seconds())
    if seconds < 120 or seconds % 60:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
