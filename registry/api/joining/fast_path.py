"""The fast path itself: an ASGI application that takes plain joins, and hands the others on."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from django.conf import settings

from controlplane.api.idempotency import is_valid_key
from controlplane.formats.strict_json import parse_json
from controlplane.observability.request_ids import choose
from controlplane.web.django_bridge import Application, Receive, Scope, Send
from controlplane.web.fast_requests import PlainHead, PlainHeads, once_more, whole_body
from controlplane.web.incomplete_body import receive_nothing
from controlplane.web.learned_headers import Header, Specimens
from controlplane.web.request_metrics import Figures
from controlplane.web.thread_batches import ThreadBatches
from registry.agents.policies import liveness_policy
from registry.api.joining.fast_requests import read_registration
from registry.api.joining.views import show_joined
from registry.joining.join import Joining, join_many
from registry.joining.repeated_joins import repeat_key
from registry.metrics import JOINS

JOIN_ROUTE = "/api/v1/agents:join"


class FastJoins:
    """django: who answers all that is not plain."""

    def __init__(self, django: Application) -> None:
        self._django = django
        # As Django's resolver names it.
        self._figures = Figures(JOIN_ROUTE.removeprefix("/"), JOINS)
        self._heads = PlainHeads(takes_keys=True)
        self._specimens = Specimens()
        self._batches = ThreadBatches(_join, most=settings.JOINS_AT_ONCE, name="joins")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        head = self._heads.read(scope, "POST")
        if head is None:
            await self._django(scope, receive, send)
            return
        body = await whole_body(receive)
        if body is None:
            await self._django(scope, receive_nothing, send)
            return
        learned = self._specimens.of(head.secure, 201)
        request_id = choose(head.request_id)
        content = None if learned is None else await self._join(head, body, request_id)
        if content is None or learned is None:
            send = self._specimens.watching(send, secure=head.secure)
            await self._django(scope, once_more(body, receive), send)
            return
        headers: list[Header] = [
            *learned,
            (b"x-request-id", request_id.encode()),
            (b"content-length", str(len(content)).encode()),
        ]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": content})
        self._figures.count("accepted")
        self._figures.answered("POST", 201, time.perf_counter() - started)

    async def close(self) -> None:
        self._figures.write()
        await self._batches.close()

    async def _join(self, head: PlainHead, body: bytes, request_id: str) -> bytes | None:
        registration = read_registration(body)
        if registration is None or (head.key is not None and not is_valid_key(head.key)):
            return None
        repeat = (
            None
            if head.key is None
            else repeat_key(head.key, parse_json(body, max_depth=settings.MAX_JSON_DEPTH))
        )
        return await self._batches.ask(Joining(head.digest, registration, request_id, repeat))


def _join(joinings: Sequence[Joining]) -> list[bytes | None]:
    """In a thread, in a transaction: the bytes that Django would answer to each."""
    policy = liveness_policy()
    return [
        None if one is None else msgspec.json.encode(show_joined(one, policy), enc_hook=str)
        for one in join_many(joinings, policy)
    ]
