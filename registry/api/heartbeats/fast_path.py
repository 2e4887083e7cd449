"""The fast path of heartbeats: usual ones are renewed in batches, and silent agents recovered in batches."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import msgspec
from django.conf import settings

from controlplane.web.django_bridge import Application
from controlplane.web.fast_path import FastAnswer, FastPath
from controlplane.web.fast_requests import RequestHead, RequestHeads
from controlplane.web.request_metrics import RequestMetrics
from controlplane.web.thread_batches import ThreadBatches
from registry.agents.policies import damping_policy, liveness_policy
from registry.api.heartbeats.fast_batches import GrantedRenewal, LeaseBatches, time_of
from registry.api.heartbeats.fast_connection import BinaryHeartbeat
from registry.api.heartbeats.fast_requests import agent_of, read_heartbeat
from registry.api.heartbeats.schemas import show_heartbeat
from registry.heartbeats.recover import RecoveringAgent, RecoveryPolicy, recover_agents
from registry.heartbeats.renew import HeartbeatRow
from registry.metrics import HEARTBEATS

_BEFORE, _AFTER = "/api/v1/agents/", "/heartbeat"
# As Django's resolver names it.
_ROUTE = "api/v1/agents/<uuid:agent_id>/heartbeat"
# Their rows are held until all of them are written.
_MOST_RECOVERIES = 256
_json = msgspec.json.Encoder()


def is_heartbeat(path: str) -> bool:
    return path.startswith(_BEFORE) and path.endswith(_AFTER)


class FastHeartbeats(FastPath):
    def __init__(self, django: Application) -> None:
        metrics = RequestMetrics(_ROUTE, HEARTBEATS)
        super().__init__(django, RequestHeads("PUT", has_body=True), metrics, status=200)
        self._batches = LeaseBatches(settings.HEARTBEAT_CONNECTIONS)
        self._recoveries = ThreadBatches(_recover, most=_MOST_RECOVERIES, name="recoveries")

    async def answer(self, head: RequestHead, body: bytes, request_id: str) -> FastAnswer | None:
        agent_id = agent_of(head.path)
        heartbeat = agent_id and read_heartbeat(
            agent_id, head.token_digest, body, congestion_lag=settings.CONGESTION_LAG
        )
        if not heartbeat:
            return None
        granted = await self._batches.renew(heartbeat)
        if granted is None:
            granted = await self._recoveries.ask(_recovering(heartbeat, request_id))
        if granted is None:
            return None
        self._metrics.count("accepted")
        # The bytes that Django renders; a test compares the two.
        return FastAnswer(200, _json.encode(show_heartbeat(granted.renewal, granted.policy)))

    async def close(self) -> None:
        self._metrics.write()
        await self._batches.close()
        await self._recoveries.close()


def _recovering(heartbeat: BinaryHeartbeat, request_id: str) -> RecoveringAgent:
    row = HeartbeatRow(
        UUID(bytes=heartbeat.agent_id),
        heartbeat.state,
        time_of(heartbeat.reported_at),
        heartbeat.consumer_lag,
        heartbeat.report,
        None if heartbeat.instance is None else UUID(bytes=heartbeat.instance),
    )
    return RecoveringAgent(row, heartbeat.token_digest, request_id)


def _recover(agents: Sequence[RecoveringAgent]) -> list[GrantedRenewal | None]:
    """In a thread, in a transaction."""
    policy = liveness_policy()
    renewals = recover_agents(agents, RecoveryPolicy(policy, damping_policy(policy), settings.CONGESTION_LAG))
    return [None if renewal is None else GrantedRenewal(renewal, policy) for renewal in renewals]
