"""Evidence of hearing: silence counts against agents only while we could have heard them. Pure.

If none of many agents is heard, the network or the control plane has more likely failed than all of them. A
scope is an environment, or the whole fleet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

# An agent with three heartbeats per lease is heard within this share of it, even if one is lost; and no lease
# that was renewed before an outage has ended by then.
PATIENCE_SHARE = 2 / 3
# Stored after a change by this share of the patience, not for each environment at each sweep.
_STORED_SHARE = 1 / 4


@dataclass(frozen=True, slots=True)
class Hearing:
    """heard_at: the last heartbeat or registration accepted in the scope. since: when agents were heard again
    after its last silence. patience: a longer time without any is a silence. grace: how long agents have to
    return after one. least: the silence of a scope with fewer agents is no evidence.
    """

    heard_at: datetime | None = None
    since: datetime | None = None
    patience: timedelta = timedelta.max
    grace: timedelta = timedelta()
    least: int = 1

    def silence(self, now: datetime) -> timedelta | None:
        """Return how long no agent has been heard; None if one was heard recently, or none ever."""
        if self.heard_at is None or now - self.heard_at <= self.patience:
            return None
        return now - self.heard_at

    def was_silent_at(self, at: datetime | None) -> bool:
        """Return whether the current silence had begun at that time."""
        return at is not None and self.heard_at is not None and at - self.heard_at > self.patience

    def is_returning(self, now: datetime) -> bool:
        return self.since is not None and now < self.since + self.grace

    def after(self, heard_at: datetime | None, *, now: datetime) -> Hearing:
        """Return the hearing after an agent was heard at that time; None: no agent was heard."""
        if heard_at is None or (self.heard_at is not None and heard_at <= self.heard_at):
            return self
        silent_before = self.heard_at is not None and heard_at - self.heard_at > self.patience
        return replace(self, heard_at=heard_at, since=now if silent_before else self.since)

    def must_be_stored(self, before: Hearing) -> bool:
        """Return whether this differs enough from `before`, the stored hearing."""
        if self.heard_at is None or before.heard_at is None or self.since != before.since:
            return self.heard_at != before.heard_at
        return self.heard_at - before.heard_at >= self.patience * _STORED_SHARE


HEARD = Hearing()


def patience_of(lease: timedelta) -> timedelta:
    """Return how long a scope with this shortest lease may be silent."""
    return lease * PATIENCE_SHARE
