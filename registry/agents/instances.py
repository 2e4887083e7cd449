"""Instances: processes with one name and credential, distinguished by their instance_uuid. Pure.

The first one holds the name until it has missed a heartbeat. So a process that restarts after a crash gets
its name back before its lease ends, and two concurrent processes do not take it from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from registry.agents.liveness import LATE_AFTER_INTERVALS

CONDITION = "SingleInstance"
# A duplicate without requests for this long counts as stopped.
SHOWN_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that registered last. interval: between its heartbeats."""

    instance: UUID | None
    heard_at: datetime
    interval: timedelta

    def is_other(self, instance: UUID | None) -> bool:
        """Return whether both are known and differ. A process without an instance_uuid never differs."""
        return None not in (self.instance, instance) and self.instance != instance

    def holds_for(self, now: datetime) -> timedelta:
        """Return how long the name remains in use; zero if the holder is late."""
        return max(timedelta(), self.heard_at + LATE_AFTER_INTERVALS * self.interval - now)


def is_duplicate(heard_at: datetime, rival_since: datetime | None) -> bool:
    """Return whether the holder sent a heartbeat after the rival's first request: then both are running."""
    return rival_since is not None and heard_at > rival_since


def duplicate_condition(
    rival_since: datetime | None, *, announced: bool, now: datetime
) -> list[dict[str, Any]]:
    """Return the condition of an agent with two running processes; nothing for any other agent."""
    if not announced or rival_since is None or now - rival_since > SHOWN_FOR:
        return []
    message = "Another process uses this name and credential. Stop one of them, or give it a name of its own."
    return [{"type": CONDITION, "status": "false", "message": message}]
