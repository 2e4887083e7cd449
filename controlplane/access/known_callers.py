"""Callers of recent reads, kept in the process for as long as the access epoch stays.

The epoch moves in the very transaction that changes a token, a role, a team or a principal (migrations of
access), and each request reads it again. So the next request on any process sees the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from struct import Struct

from django.conf import settings
from django.db import connection

from controlplane.access.models import Token
from controlplane.database.direct import direct_connection, read_binary
from controlplane.identity.callers import Caller

# Minimum time between two writes per token: "last used" is not worth a write per request.
LAST_USED_PRECISION = timedelta(minutes=1)
_STATE = "SELECT epoch, extract(epoch FROM now())::float8 FROM access_epoch WHERE id = 1"
_SECONDS = Struct(">d")
_MAX_CALLERS = 20_000


@dataclass(frozen=True, slots=True)
class AccessState:
    """The access epoch, and Postgres' time in seconds since 1970."""

    epoch: bytes
    now: float


@dataclass(frozen=True, slots=True)
class KnownCaller:
    """epoch: which was read no later than the rights. ends_at: in seconds since 1970, of what is kept."""

    caller: Caller
    token: Token
    epoch: bytes
    ends_at: float

    def holds(self, state: AccessState) -> bool:
        """True if nothing has changed, and nothing has expired."""
        return self.epoch == state.epoch and state.now < self.ends_at


class KnownCallers:
    """The callers by a digest of their Authorization header."""

    def __init__(self) -> None:
        self._callers: dict[tuple[bytes, bool], KnownCaller] = {}

    def find(self, digest: bytes) -> KnownCaller | None:
        """Return the caller if it is known and its rights are unchanged."""
        key = (digest, settings.ORGANISATIONS)
        known = self._callers.get(key)
        if known is None:
            return None
        state = read_access_state()
        if state is not None and known.holds(state):
            return known
        self._callers.pop(key, None)
        return None

    def keep(self, digest: bytes, caller: Caller, token: Token) -> None:
        """Keep a caller whose token was read together with the epoch."""
        epoch, now = token.epoch, token.now  # type: ignore[attr-defined]  # annotated
        if epoch is None:
            return
        known = known_caller(caller, token, epoch.bytes, now)
        if len(self._callers) >= _MAX_CALLERS:
            self._callers.clear()
        self._callers[digest, settings.ORGANISATIONS] = known


def known_caller(caller: Caller, token: Token, epoch: bytes, now: datetime) -> KnownCaller:
    """Return what may be kept. It ends no later than the token, a role, and the next write of "last used"."""
    used_at = token.last_used_at
    is_recorded = used_at is not None and now - used_at <= LAST_USED_PRECISION
    recorded_until = (used_at if used_at and is_recorded else now) + LAST_USED_PRECISION
    ends = [recorded_until, *(end for end in (token.expires_at, caller.grants_end_at) if end is not None)]
    return KnownCaller(caller, token, epoch, min(ends).timestamp())


def read_access_state() -> AccessState | None:
    """Read it from Postgres; None if the row is missing, and then nothing may be kept."""
    opened = direct_connection()
    if opened is None:
        with connection.cursor() as cursor:
            cursor.execute(_STATE)
            row = cursor.fetchone()
        return row and AccessState(row[0].bytes, row[1])
    result = read_binary(opened, _STATE.encode())
    if not result.ntuples:
        return None
    epoch, seconds = (result.get_value(0, column) or b"" for column in range(2))
    return AccessState(epoch, _SECONDS.unpack(seconds)[0])


KNOWN_CALLERS = KnownCallers()
