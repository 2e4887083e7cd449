"""Recently authenticated tokens and their rights. A token that is not cached, or whose access epoch has
changed, is looked up by the same code as in Django."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from django.db import close_old_connections, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.authentication import caller_for, find_token
from controlplane.access.models import Token
from controlplane.errors import NotAuthenticated
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope

_MAX_TOKENS = 20_000
_MAX_SCOPES = 1_000
# "Last used" is only shown: written at most once a minute for each token, with a delay, in batches.
_USE_PRECISION = timedelta(minutes=1)
_WRITE_DELAY_SECONDS = 1.0


class AccessState(Protocol):
    """What was read of the database before a token is used.

    access: the access epoch. now: Postgres' time, in seconds since 1970.
    """

    @property
    def access(self) -> bytes: ...
    @property
    def now(self) -> float: ...


@dataclass(slots=True)
class CachedToken:
    """epoch: the access epoch that was read before the token was looked up."""

    id: UUID
    caller: Caller
    epoch: bytes
    expires_at: float | None
    used_at: float
    _readable: dict[Scope, bool] = field(default_factory=dict)

    def holds(self, state: AccessState) -> bool:
        return self.epoch == state.access and (self.expires_at is None or self.expires_at > state.now)

    def may_read(self, scope: Scope) -> bool:
        allowed = self._readable.get(scope)
        if allowed is None:
            if len(self._readable) >= _MAX_SCOPES:
                self._readable.clear()
            allowed = self.caller.verdict(Action.OVERRIDE_READ, scope).allowed
            self._readable[scope] = allowed
        return allowed


class TokenCache:
    """Cache of tokens. Looks them up in the pool's threads, one look-up per token at a time."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._tokens: dict[bytes, CachedToken] = {}
        self._lookups: dict[bytes, asyncio.Task[None]] = {}
        self._used_ids: set[UUID] = set()

    def ready(self, digest: bytes, state: AccessState) -> CachedToken | None:
        """Return the token if it is cached and still valid."""
        token = self._tokens.get(digest)
        if token is None or not token.holds(state):
            return None
        if state.now - token.used_at > _USE_PRECISION.total_seconds():
            token.used_at = state.now
            self._remember_use(token.id)
        return token

    async def look_up(self, secret: bytes, digest: bytes, state: AccessState) -> CachedToken | None:
        """Return the token if it is valid, else None."""
        lookup = self._lookups.get(digest)
        if lookup is None:
            lookup = asyncio.create_task(self._look_up(secret, digest, state))
            self._lookups[digest] = lookup
        await asyncio.shield(lookup)
        return self.ready(digest, state)

    async def _look_up(self, secret: bytes, digest: bytes, state: AccessState) -> None:
        loop = asyncio.get_running_loop()
        try:
            token = await loop.run_in_executor(self._pool, _authenticate, secret, state)
        except Exception:  # Django gets the same error and reports it
            self._tokens.pop(digest, None)
        else:
            if len(self._tokens) >= _MAX_TOKENS:
                self._tokens.clear()
            self._tokens[digest] = token
        finally:
            del self._lookups[digest]

    def _remember_use(self, token_id: UUID) -> None:
        if not self._used_ids:
            loop = asyncio.get_running_loop()
            loop.call_later(_WRITE_DELAY_SECONDS, self._write_uses, loop)
        self._used_ids.add(token_id)

    def _write_uses(self, loop: asyncio.AbstractEventLoop) -> None:
        used_ids, self._used_ids = self._used_ids, set()
        loop.run_in_executor(self._pool, _write_uses, used_ids)


def _authenticate(secret: bytes, state: AccessState) -> CachedToken:
    """Authenticate in a thread, as Django does. Raises NotAuthenticated."""
    if not secret.isascii():
        raise NotAuthenticated("The token must be ASCII.")
    close_old_connections()
    try:
        token = find_token(secret.decode("ascii").strip())
        caller = caller_for(token.principal, token.scopes)
    finally:
        close_old_connections()
    ends = [end.timestamp() for end in (token.expires_at, caller.grants_end_at) if end is not None]
    return CachedToken(token.id, caller, state.access, min(ends, default=None), state.now)


def _write_uses(used_ids: set[UUID]) -> None:
    """Store the last use. Locked rows are skipped: workers must not wait for each other."""
    close_old_connections()
    try:
        with transaction.atomic():
            _update_last_used(used_ids)
    finally:
        close_old_connections()


def _update_last_used(used_ids: set[UUID]) -> None:
    stale = Q(last_used_at=None) | Q(last_used_at__lt=Now() - _USE_PRECISION)
    rows = Token.objects.filter(stale, pk__in=used_ids).select_for_update(skip_locked=True)
    Token.objects.filter(pk__in=rows.values("pk")).update(last_used_at=Now())
