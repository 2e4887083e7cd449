"""Evidence of hearing: silence counts against agents only while we could have heard them. Pure.

If nobody of many is heard, the way to us is more likely broken than all of them. A scope is an environment,
or the whole fleet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

# Whoever beats three times per lease is heard within this share of it, even if a heartbeat is lost; and no
# lease that was renewed before an outage of ours has ended by then.
PATIENCE_SHARE = 2 / 3
# Written when it has moved by this share of the patience: not at each sweep for each environment.
_NOTED_SHARE = 1 / 4


@dataclass(frozen=True, slots=True)
class Hearing:
    """heard_at: the last heartbeat or registration accepted in the scope. since: when agents were heard again
    after its last silence. patience: a longer time without any is a silence. grace: how long everybody has to
    return after one. least: a scope with fewer agents proves nothing by its own silence.
    """

    heard_at: datetime | None = None
    since: datetime | None = None
    patience: timedelta = timedelta.max
    grace: timedelta = timedelta()
    least: int = 1

    def silence(self, now: datetime) -> timedelta | None:
        """For how long nobody has been heard; None if somebody was heard lately, or nobody ever."""
        if self.heard_at is None or now - self.heard_at <= self.patience:
            return None
        return now - self.heard_at

    def was_silent_at(self, at: datetime | None) -> bool:
        """True if the silence of now had begun at that time."""
        return at is not None and self.heard_at is not None and at - self.heard_at > self.patience

    def is_returning(self, now: datetime) -> bool:
        return self.since is not None and now < self.since + self.grace

    def after(self, heard_at: datetime | None, *, now: datetime) -> Hearing:
        """What is known once somebody was heard at that time, or is not known to have been (None)."""
        if heard_at is None or (self.heard_at is not None and heard_at <= self.heard_at):
            return self
        silent_before = self.heard_at is not None and heard_at - self.heard_at > self.patience
        return replace(self, heard_at=heard_at, since=now if silent_before else self.since)

    def is_news(self, before: Hearing) -> bool:
        """True if it must be stored, when `before` is what is stored."""
        if self.heard_at is None or before.heard_at is None or self.since != before.since:
            return self.heard_at != before.heard_at
        return self.heard_at - before.heard_at >= self.patience * _NOTED_SHARE


HEARD = Hearing()


def patience_of(lease: timedelta) -> timedelta:
    """How long a scope may be silent in which this is the shortest lease."""
    return lease * PATIENCE_SHARE
