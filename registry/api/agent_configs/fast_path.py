"""The fast path of configuration polls: 304 to a collector that has the active configuration.

The database is read after each poll arrived, so a 304 is never older than an acknowledged change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from django.conf import settings

from controlplane.access.permissions import may_somewhere
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.web.batching import NaturalBatches
from controlplane.web.django_bridge import Application
from controlplane.web.exchange import Exchange, FastAnswer
from controlplane.web.fast_path import FastPath
from controlplane.web.learned_headers import LearnedHeaders
from controlplane.web.request_metrics import RequestMetrics
from overrides.api.effective.fast_path.token_cache import CachedToken, TokenCache
from registry.agent_configs.delivery.data_planes import etag_of
from registry.agent_configs.delivery.plane_access import follows_as_principal
from registry.api.agent_configs.fast_connection import ActiveBundle, PollConnection, PollState
from registry.api.agent_configs.fast_requests import PollHead, PollHeads

# The route's name in Django's resolver.
_ROUTE = "api/v1/data-planes/<str:name>/config"
_MAX_BATCH = 512
_PATIENCE_SECONDS = 2.0
_NOT_MODIFIED = 304


class FastPolls(FastPath):
    """tokens: those of the other fast paths."""

    def __init__(self, django: Application, tokens: TokenCache) -> None:
        super().__init__(django, PollHeads(), RequestMetrics(_ROUTE))
        # A 200 has headers of its data plane, and is always Django's.
        self.learned = LearnedHeaders([_NOT_MODIFIED])
        self._tokens = tokens
        self._batches: NaturalBatches[str, PollState] = NaturalBatches(
            self._read,
            most=_MAX_BATCH,
            patience=_PATIENCE_SECONDS,
            name="config_polls",
            workers=settings.CONFIG_POLL_CONNECTIONS,
        )
        self._idle: list[PollConnection] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, exchange: Exchange, request_id: str) -> None:
        head = exchange.head
        if not isinstance(head, PollHead):
            self.leave(exchange)
            return

        def checked(state: PollState | None) -> None:
            bundle = None if state is None else state.bundles.get(head.data_plane)
            if state is None or bundle is None or not has_current(head, bundle):
                self.leave(exchange)
            elif token := self._tokens.ready(head.token_digest, state):
                self._decide(exchange, token, bundle, request_id)
            else:
                self._look_up(exchange, state, bundle, request_id)

        self._batches.put(head.data_plane, checked)

    async def close(self) -> None:
        self._metrics.write()
        await self._batches.close()
        for connection in self._idle:
            await connection.close()
        self._idle.clear()

    async def _read(self, data_planes: Sequence[str]) -> Sequence[PollState | None]:
        connection = self._idle.pop() if self._idle else await PollConnection.open()
        try:
            state = await connection.read(set(data_planes))
        except BaseException:  # batches that time out are cancelled
            await connection.close()
            raise
        self._idle.append(connection)
        return [state] * len(data_planes)

    def _look_up(self, exchange: Exchange, state: PollState, bundle: ActiveBundle, request_id: str) -> None:
        """Decide after a look-up of the token in a thread."""

        async def decide() -> None:
            head = exchange.head
            token = await self._tokens.look_up(head.secret, head.token_digest, state)
            self._decide(exchange, token, bundle, request_id)

        task = asyncio.get_running_loop().create_task(decide())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _decide(
        self, exchange: Exchange, token: CachedToken | None, bundle: ActiveBundle, request_id: str
    ) -> None:
        """Answer, or leave the poll to Django if the token does not allow it."""
        answer = None
        if token is not None and may_poll(token.caller, bundle):
            answer = FastAnswer(_NOT_MODIFIED, b"", [(b"etag", exchange.head.etag or b"")])
        self.finish(exchange, answer, request_id)


def has_current(head: PollHead, bundle: ActiveBundle) -> bool:
    """Return whether the client has the active configuration."""
    etag = etag_of(bundle.digest, head.format, revision=bundle.revision, version=bundle.version)
    return head.etag == etag.encode()


def may_poll(caller: Caller, bundle: ActiveBundle) -> bool:
    """Return whether the caller follows the data plane as its principal, which its grants alone decide.

    False for all others, which Django decides: administrators by the teams that they see, and callers of an
    organisation, whose rows are limited by row-level security.
    """
    if caller.tenant is not None or not may_somewhere(caller, Action.DATA_PLANE_FOLLOW):
        return False
    return bool(follows_as_principal(caller, bundle.principal, bundle.owner))
