"""The fast path itself: an ASGI application that takes plain heartbeats, and hands the others on."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import msgspec
from django.conf import settings

from controlplane.observability.request_ids import choose, new_request_id
from controlplane.web.django_bridge import Receive, Scope, Send
from controlplane.web.fast_requests import PlainHead, PlainHeads, once_more, whole_body
from controlplane.web.incomplete_body import receive_nothing
from controlplane.web.learned_headers import Header, Specimens
from controlplane.web.request_metrics import Figures
from controlplane.web.thread_batches import ThreadBatches
from registry.agents.liveness import LivenessPolicy
from registry.agents.policies import damping_policy, liveness_policy
from registry.api.heartbeats.fast_batches import Batches, Told, moment_of
from registry.api.heartbeats.fast_connection import Beat
from registry.api.heartbeats.fast_requests import PlainBody, agent_of, read_body, time_of
from registry.heartbeats.recover import Returner, ReturnPolicy, take_back
from registry.heartbeats.renew import Renewed
from registry.metrics import HEARTBEATS

_BEFORE, _AFTER = "/api/v1/agents/", "/heartbeat"
# As Django's resolver names it.
_ROUTE = "api/v1/agents/<uuid:agent_id>/heartbeat"
# Their rows are held until all of them are written.
_MOST_RETURNS = 256
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
_chance = random.Random()  # noqa: S311  (jitter is no secret)


def is_heartbeat(path: str) -> bool:
    return path.startswith(_BEFORE) and path.endswith(_AFTER)


class FastHeartbeats:
    """django: who answers all that is not plain."""

    def __init__(self, django: Application) -> None:
        self._django = django
        self._figures = Figures(_ROUTE, HEARTBEATS)
        self._heads = PlainHeads()
        self._specimens = Specimens()
        self._batches = Batches(settings.HEARTBEAT_CONNECTIONS)
        self._returns = ThreadBatches(_take_back, most=_MOST_RETURNS, name="returns")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        agent = agent_of(scope["path"])
        head = self._heads.read(scope, "PUT") if agent else None
        if head is None or agent is None:
            await self._django(scope, receive, send)
            return
        body = await whole_body(receive)
        if body is None:
            await self._django(scope, receive_nothing, send)
            return
        learned = self._specimens.of(head.secure, 200)
        request_id = choose(head.request_id) if head.request_id else new_request_id()
        told = None if learned is None else await self._renew(agent, head, body, request_id)
        if told is None or learned is None:
            send = self._specimens.watching(send, secure=head.secure)
            await self._django(scope, once_more(body, receive), send)
            return
        said, answer = told
        content = _content(agent, said, answer)
        headers: list[Header] = [
            *learned,
            (b"x-request-id", request_id.encode()),
            (b"content-length", str(len(content)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})
        self._figures.count("accepted")
        self._figures.answered("PUT", 200, time.perf_counter() - started)

    async def close(self) -> None:
        self._figures.write()
        await self._batches.close()
        await self._returns.close()

    async def _renew(
        self, agent: str, head: PlainHead, body: bytes, request_id: str
    ) -> tuple[PlainBody, Told] | None:
        said = read_body(body)
        if said is None:
            return None
        key = bytes.fromhex(agent.replace("-", ""))
        told = await self._batches.renew(
            Beat(key, head.digest, said.reported_at, said.lag, said.report, said.instance)
        )
        if told is None:
            told = await self._returns.ask(_returner(UUID(bytes=key), head.digest, said, request_id))
        return None if told is None else (said, told)


def _returner(agent_id: UUID, digest: bytes, said: PlainBody, request_id: str) -> Returner:
    return Returner(
        agent_id,
        digest,
        time_of(said.reported_at),
        said.lag,
        said.report,
        request_id,
        None if said.instance is None else UUID(bytes=said.instance),
    )


def _take_back(returners: Sequence[Returner]) -> list[Told | None]:
    """In a thread, in a transaction."""
    policy = liveness_policy()
    backs = take_back(returners, ReturnPolicy(policy, damping_policy(policy), settings.CONGESTION_LAG))
    return [None if one is None else _told(one, policy) for one in backs]


def _told(renewed: Renewed, policy: LivenessPolicy) -> Told:
    moment = moment_of(renewed.renewed_at, renewed.expires_at, policy)
    return Told(moment, renewed.generation, renewed.configuration_etag.encode())


def _content(agent: str, said: PlainBody, told: Told) -> bytes:
    """The bytes that `show_heartbeat` becomes when Django renders it; a test compares the two."""
    moment = told.moment
    state = "congested" if said.lag >= settings.CONGESTION_LAG else "ready"
    etag = msgspec.json.encode(told.etag.decode()).decode() if told.etag else '""'
    return (
        f'{{"agent_id":"{agent}","health_status":"{state}","last_heartbeat":{moment.renewed_at},'
        f'"lease_expires_at":{moment.expires_at},"lease_seconds":{moment.lease},'
        f'"heartbeat_interval":{int(moment.policy.interval.total_seconds())},'
        f'"next_heartbeat_in_seconds":{moment.policy.next_interval(_chance)},'
        f'"generation":{told.generation},"directives":[],"configuration_etag":{etag}}}'
    ).encode()
