"""Decisions of bulk changes: what to do with each agent, and when to stop. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from registry.agents.states import State

# Changes of more agents must be confirmed with their number.
MOST_UNCONFIRMED = 10


class BulkAction(StrEnum):
    DRAIN = "drain"
    RESUME = "resume"
    RETIRE = "retire"
    APPROVE = "approve"


class BulkState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    # It would have taken the last ready agent of a task type, or its author lost the right.
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    UNDOING = "undoing"
    UNDONE = "undone"


class ItemState(StrEnum):
    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNDONE = "undone"
    # Not undone, because somebody changed the agent since.
    KEPT = "kept"


ACTIVE = frozenset({BulkState.RUNNING, BulkState.UNDOING})
# A revoked token stays revoked, and an approved agent may already have work.
UNDOABLE = frozenset({BulkAction.DRAIN, BulkAction.RESUME})
# These take an agent from its work.
TAKING = frozenset({BulkAction.DRAIN, BulkAction.RETIRE})
TAKE_WORK = frozenset({State.READY, State.CONGESTED})


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """The columns of an agent that decide whether an action changes it. drain_until: in RFC 3339."""

    state: State
    drain_reason: str = ""
    drain_until: str | None = None


@dataclass(frozen=True, slots=True)
class LastAgents:
    """Task types that no other agent of the environment would serve."""

    environment: str
    task_types: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(self.task_types[:5]) + (", …" if len(self.task_types) > 5 else "")
        return f"{names} in {self.environment}"


@dataclass(frozen=True, slots=True)
class Restoration:
    """The drain to restore; an empty reason is none."""

    drain_reason: str
    drain_until: str | None


def obstacle(action: BulkAction, agent: AgentFacts) -> str:
    """Return why the action does not change the agent; empty if it does."""
    if action is BulkAction.APPROVE:
        return (
            ""
            if agent.state is State.REGISTERED
            else f"The agent is {agent.state}, not waiting for approval."
        )
    if action is BulkAction.RESUME:
        return "" if agent.drain_reason else "The agent is not draining."
    if agent.state is State.RETIRED:
        return "The agent is retired."
    if action is BulkAction.DRAIN and agent.drain_reason:
        return f"The agent is already draining: {agent.drain_reason}"
    return ""


def restoration(before: Mapping[str, Any], after: Mapping[str, Any], agent: AgentFacts) -> Restoration | str:
    """Return the drain to restore, or why the agent is left as it is."""
    if agent.state is State.RETIRED:
        return "The agent is retired."
    if (agent.drain_reason, agent.drain_until) != (after["drain_reason"], after["drain_until"]):
        return "The agent's drain was changed since."
    return Restoration(before["drain_reason"], before["drain_until"])


def confirmation_of(count: int, *, is_filtered: bool) -> int | None:
    """Return the number of agents that must be confirmed; None if none must be.

    is_filtered: whether the selector has a filter. Without one, any number must be confirmed.
    """
    return count if count > MOST_UNCONFIRMED or (count and not is_filtered) else None


def lost_task_types(served: Collection[str], served_by_others: Collection[str]) -> tuple[str, ...]:
    """Return the task types that nobody would serve without the agent, sorted."""
    return tuple(sorted(set(served) - set(served_by_others)))


def next_pause(left_in_batch: int, pending: int, pause_seconds: int) -> int:
    """Return how many seconds to wait before the next agent."""
    return pause_seconds if pending and left_in_batch <= 0 else 0
