"""What a pool promises, and what its leases are. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from controlplane.scopes import Level, Scope

NAME = re.compile(r"[a-z0-9]([a-z0-9:._-]{0,253}[a-z0-9])?")
# They would be read as an operation on a pool with a shorter name.
RESERVED_ENDINGS = (":explain",)
MAX_TOKEN_LENGTH = 512
DEFAULT_WEIGHT = 100
# How long a queued request waits for its program to ask again.
PATIENCE = timedelta(seconds=60)


class GrantMode(StrEnum):
    """Who gets the next free unit."""

    # The scope that uses the least for its weight.
    FAIR = "fair"
    # The request that has waited longest.
    FIFO = "fifo"
    # The next request that comes: there is no queue.
    FREE = "free"


class LeaseState(StrEnum):
    WAITING = "waiting"
    GRANTED = "granted"
    RELEASED = "released"
    EXPIRED = "expired"
    REVOKED = "revoked"
    # A request that nobody repeated, or that was taken out of the queue.
    CANCELLED = "cancelled"


LIVE = (LeaseState.WAITING, LeaseState.GRANTED)


class Door(StrEnum):
    """How a lease was requested."""

    REST = "rest"
    GRPC = "grpc"
    REDIS = "redis"


@dataclass(frozen=True, slots=True)
class PoolTerms:
    """The settings of a pool. Durations in seconds; 0: for ever."""

    capacity: int
    max_units_per_lease: int = 1_000_000
    lease_seconds: int = 300
    max_hold_seconds: int = 86_400
    grant_mode: GrantMode = GrantMode.FAIR
    fair_level: Level = Level.PROJECT
    queue_limit: int = 10_000
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class Limit:
    """What a pool promises to a scope. cap: None for no cap of its own; weight: None to inherit."""

    scope: Scope
    cap: int | None = None
    guaranteed: int = 0
    weight: int | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """Units of a pool for the holder of a token, or a request that waits for them.

    epoch: rises with each grant of the pool, so that a resource can reject the holder of an older one.
    expires_at: of a waiting request, when it leaves the queue; None: never.
    """

    id: UUID
    token: str
    scope: Scope
    units: int
    state: LeaseState
    requested_at: datetime
    priority: int = 0
    granted_at: datetime | None = None
    expires_at: datetime | None = None
    ended_at: datetime | None = None
    epoch: int = 0
    # Per renewal; 0: until released.
    lease_seconds: int = 0
    holder_id: UUID | None = None
    door: Door = Door.REST
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # Of the request alone, and not stored.
    caps: tuple[tuple[Scope, int], ...] = ()

    @property
    def key(self) -> UUID:
        return lease_key(self.scope, self.token)


def lease_key(scope: Scope, token: str) -> UUID:
    """Return what identifies a token within a pool.

    It contains the scope: nobody can occupy the token of another project.
    """
    text = "\0".join((*scope.path, token))
    return UUID(bytes=hashlib.sha256(text.encode()).digest()[:16])


def fair_scope(terms: PoolTerms, scope: Scope) -> Scope:
    """Return the rung of the scope at the pool's fair level, or the scope itself if it is wider."""
    return next((rung for rung in scope.ladder() if rung.level is terms.fair_level), scope)


def competing_scope(terms: PoolTerms, scope: Scope) -> Scope:
    """Return the scope that competes for units; one for all requests without fairness."""
    return fair_scope(terms, scope) if terms.grant_mode is GrantMode.FAIR else Scope()


def lease_end(terms: PoolTerms, seconds: int, granted_at: datetime, now: datetime) -> datetime | None:
    """Return when a lease that is granted or renewed now expires; None: it does not."""
    ends = []
    if seconds:
        ends.append(now + timedelta(seconds=seconds))
    if terms.max_hold_seconds:
        ends.append(granted_at + timedelta(seconds=terms.max_hold_seconds))
    return min(ends, default=None)
