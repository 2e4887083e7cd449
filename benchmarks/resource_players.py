"""Agents played by one process: each takes its requests from NATS, and answers as its part says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import nats
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig
from nats.js.client import JetStreamContext

STREAM = "dcm-agent-requests"
# One message at a time: the client waits until a larger batch is full, or its time is over.
_FETCH_SECONDS = 30.0


class Part(Enum):
    GOOD = "good"
    # It answers every request with an error.
    FAILING = "failing"
    # It takes requests and never answers.
    SILENT = "silent"


@dataclass(slots=True)
class PlayedAgent:
    """An agent. id: as the control plane knows it. topic: the subject of its requests."""

    id: str
    name: str
    topic: str
    part: Part

    @property
    def base(self) -> str:
        return self.topic.rpartition(".")[2]


@dataclass(slots=True)
class Arrivals:
    """When each create first arrived, by resource."""

    at: dict[str, float] = field(default_factory=dict)

    def note(self, resource_id: str) -> None:
        self.at.setdefault(resource_id, time.perf_counter())


class Cast:
    """All agents, with one connection to NATS."""

    def __init__(self, url: str, agents: list[PlayedAgent]) -> None:
        self._url, self._agents = url, agents
        self._tasks: list[asyncio.Task[None]] = []
        self.arrivals = Arrivals()

    async def enter(self) -> None:
        """Connect, make the consumers, and take requests from now on."""
        self._connection = await nats.connect(self._url)
        self._stream = self._connection.jetstream()
        for agent in self._agents:
            for subject, durable in (
                (agent.topic, f"{agent.base}-consumer"),
                (f"{agent.topic}.cancel", f"{agent.base}-cancel-consumer"),
            ):
                config = ConsumerConfig(
                    durable_name=durable,
                    filter_subject=subject,
                    ack_policy=AckPolicy.EXPLICIT,
                    ack_wait=120,
                    max_deliver=10,
                )
                await self._stream.add_consumer(STREAM, config)
                self._tasks.append(asyncio.create_task(self._take(agent, subject, durable)))

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._connection.close()

    async def _take(self, agent: PlayedAgent, subject: str, durable: str) -> None:
        pull = await self._stream.pull_subscribe_bind(consumer=durable, stream=STREAM)
        while True:
            with contextlib.suppress(nats.errors.TimeoutError):
                for message in await pull.fetch(1, timeout=_FETCH_SECONDS):
                    await self._handle(agent, message)

    async def _handle(self, agent: PlayedAgent, message: Msg) -> None:
        event = json.loads(message.data)
        data, request = event["data"], event["type"].removeprefix("dcm.request.")
        if request == "create":
            self.arrivals.note(data["resource_id"])
        for kind, more in _REPLIES[agent.part](request):
            body = {**_base(agent, data), **more}
            if kind.startswith("dcm.status."):
                body = {"id": data["resource_id"], "agent_name": agent.name, "epoch": data["epoch"], **more}
            await self._answer(agent, kind, body)
        await message.ack()

    async def _answer(self, agent: PlayedAgent, kind: str, data: dict[str, Any]) -> None:
        event = {
            "specversion": "1.0",
            "id": str(uuid.uuid4()),
            "type": kind,
            "source": f"dcm/agents/{agent.name}",
            "data": data,
        }
        await _publish(self._stream, f"dcm.agents.{agent.id}.responses", event)


async def _publish(stream: JetStreamContext, subject: str, event: dict[str, Any]) -> None:
    await stream.publish(subject, json.dumps(event).encode(), headers={"Nats-Msg-Id": event["id"]})


def _base(agent: PlayedAgent, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "resource_id": data["resource_id"],
        "agent_name": agent.name,
        "topic_name": agent.topic,
        "epoch": data["epoch"],
    }


Replies = list[tuple[str, dict[str, Any]]]


def _good(request: str) -> Replies:
    match request:
        case "create":
            running = {"status": "RUNNING", "message": "Played."}
            return [("dcm.agent.creation-acknowledged", {}), ("dcm.status.container", running)]
        case "cancel":
            return [("dcm.agent.cancel-acknowledged", {})]
        case _:
            gone = {"status": "DELETED", "message": "Played."}
            return [
                ("dcm.agent.deletion-acknowledged", {"status": "DELETING"}),
                ("dcm.status.container", gone),
            ]


def _failing(request: str) -> Replies:
    if request == "cancel":
        return [("dcm.agent.cancel-acknowledged", {})]
    return [("dcm.agent.error", {"error": "NON_RETRYABLE_SP_ERROR", "details": "Played."})]


_REPLIES: dict[Part, Callable[[str], Replies]] = {
    Part.GOOD: _good,
    Part.FAILING: _failing,
    Part.SILENT: lambda request: [],
}
