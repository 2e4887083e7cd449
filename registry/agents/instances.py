"""Instances: processes that use one name and one credential are told apart by their instance_uuid. Pure.

The first one holds the name until it has missed a heartbeat. So a process that was restarted after a crash
has its name back before its lease ends, and two that run at once do not take it from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from registry.agents.liveness import LATE_AFTER_INTERVALS

CONDITION = "SingleInstance"
# A duplicate that has not asked for so long counts as stopped.
_SHOWN_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that registered last. interval: how often it beats."""

    instance: UUID | None
    heard_at: datetime
    interval: timedelta

    def is_other(self, instance: UUID | None) -> bool:
        """True if both are known and differ. A process that states none cannot be told apart."""
        return None not in (self.instance, instance) and self.instance != instance

    def holds_for(self, now: datetime) -> timedelta:
        """How long the name is still taken; zero if the holder is late."""
        return max(timedelta(), self.heard_at + LATE_AFTER_INTERVALS * self.interval - now)


def is_duplicate(heard_at: datetime, rival_since: datetime | None) -> bool:
    """True if the holder has beaten since another process asked first: then both run. A restart is none."""
    return rival_since is not None and heard_at > rival_since


def duplicate_condition(
    rival_since: datetime | None, *, announced: bool, now: datetime
) -> list[dict[str, Any]]:
    """The condition of an agent of which two processes run; nothing for all others."""
    if not announced or rival_since is None or now - rival_since > _SHOWN_FOR:
        return []
    message = "Another process uses this name and credential. Stop one of them, or give it a name of its own."
    return [{"type": CONDITION, "status": "false", "message": message}]
