"""What programs ask of a pool, and the results. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from controlplane.ids import uuid7
from controlplane.pools.ledger import Obstacle
from controlplane.pools.terms import PATIENCE, Door, Lease, LeaseState, lease_key
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class Acquire:
    """A request for units. lease_seconds: None for the pool's; is_queued: wait if there are none.

    patience: how long it stays in the queue unless it is repeated. caps: of this request alone.
    sees_others: a token whose lease somebody else holds gets that lease; else it is in use.
    """

    token: str
    scope: Scope = Scope()
    units: int = 1
    lease_seconds: int | None = None
    is_queued: bool = False
    patience: timedelta = PATIENCE
    priority: int = 0
    holder_id: UUID | None = None
    door: Door = Door.REST
    attributes: Mapping[str, Any] = field(default_factory=dict)
    caps: tuple[tuple[Scope, int], ...] = ()
    sees_others: bool = True
    lease_id: UUID = field(default_factory=uuid7)

    @property
    def key(self) -> UUID:
        return lease_key(self.scope, self.token)


@dataclass(frozen=True, slots=True)
class Renew:
    """A longer lease. epoch: of the grant that the holder knows. lease_seconds: None for as before."""

    lease_id: UUID
    epoch: int
    lease_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """The end of a lease, by its id or its key, or of a request in the queue.

    epoch: only if it is the lease's. if_expired: only if its time is over. state: how it ends.
    """

    lease_id: UUID | None = None
    key: UUID | None = None
    epoch: int | None = None
    if_expired: bool = False
    state: LeaseState = LeaseState.RELEASED


Operation = Acquire | Renew | Release


@dataclass(frozen=True, slots=True)
class Granted:
    """is_new: granted by this operation, not before."""

    lease: Lease
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Queued:
    lease: Lease
    obstacles: Sequence[Obstacle]


@dataclass(frozen=True, slots=True)
class Refused:
    """is_full: the queue has no place left either."""

    obstacles: Sequence[Obstacle]
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class TokenInUse:
    """The token has a live lease or request of another size, or of somebody else."""

    units: int


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease ended, or was granted again."""


@dataclass(frozen=True, slots=True)
class Released:
    """lease: what ended; None if there was nothing to end."""

    lease: Lease | None


Result = Granted | Queued | Refused | TokenInUse | Lost | Released
