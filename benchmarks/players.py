"""A fleet played from one process: all its agents join at once, and beat as often as they are told."""

from __future__ import annotations

import asyncio
import heapq
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.lines import Answer, Lines
from benchmarks.load import Measured
from benchmarks.machine import seconds_of

_BODY = b'{"timestamp":"2026-11-21T09:30:00Z","consumer_lag":0}'
_TRY_AGAIN = frozenset({0, 429, 503})
# The shortest sleep of the clock that starts heartbeats.
_TICK = 0.005


@dataclass(slots=True)
class Member:
    """An agent of the fleet. beat: its whole heartbeat, once it has joined."""

    number: int
    beat: bytes = b""


@dataclass(slots=True)
class Played:
    """late: seconds by which heartbeats were started after they were due. spent: processor seconds."""

    registered: Measured = field(default_factory=Measured)
    beaten: Measured = field(default_factory=Measured)
    late: list[float] = field(default_factory=list)
    again: int = 0
    interval: float = 0.0
    spent: float = 0.0


class Fleet:
    """servers: whose processor time is counted. storm: connections that join. beats: that beat."""

    def __init__(
        self, join_token: str, agents: int, port: int, *, servers: tuple[int, ...], storm: int, beats: int
    ) -> None:
        self._servers = servers
        self._join_token = join_token
        self._members = [Member(number) for number in range(agents)]
        self._storm, self._lines, self._workers = Lines(port, storm), Lines(port, beats), storm
        self._due: list[tuple[float, int]] = []
        self._under_way: set[asyncio.Task[None]] = set()
        self.played = Played()

    async def play(self, seconds: float) -> Played:
        """Register all, while those that have registered beat already; then measure heartbeats so long."""
        clock = asyncio.create_task(self._keep_beating())
        began, rest, spent = time.perf_counter(), iter(self._members), seconds_of(self._servers)
        await asyncio.gather(*(self._register_from(rest) for _ in range(self._workers)))
        self.played.registered.seconds = time.perf_counter() - began
        self.played.spent = seconds_of(self._servers) - spent
        # What beat during the storm is no measure of the quiet after it: a lease long it settles.
        await asyncio.sleep(self.played.interval)
        self.played.beaten, self.played.late, began = Measured(), [], time.perf_counter()
        await asyncio.sleep(seconds)
        self.played.beaten.seconds = time.perf_counter() - began
        clock.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        self._storm.close()
        self._lines.close()
        return self.played

    async def _register_from(self, rest: Iterator[Member]) -> None:
        for member in rest:
            await self._register(member)

    async def _register(self, member: Member) -> None:
        request = _joining(member, self._join_token)
        for tries in range(20):
            began = time.perf_counter()
            answer = await self._storm.ask(request)
            if answer.status == 201:
                _note(self.played.registered, began)
                self._follow(member, json.loads(answer.body))
                return
            if answer.status not in _TRY_AGAIN:
                break
            self.played.again += 1
            await asyncio.sleep(random.uniform(0, min(30, 2**tries)))
        self.played.registered.errors += 1

    def _follow(self, member: Member, answer: dict[str, Any]) -> None:
        member.beat = _heartbeat(answer["agent"]["agent_id"], answer["token"])
        self._plan(member.number, answer["agent"])

    def _plan(self, number: int, answer: dict[str, object]) -> None:
        self.played.interval = float(str(answer["heartbeat_interval"]))
        heapq.heappush(
            self._due, (time.perf_counter() + float(str(answer["next_heartbeat_in_seconds"])), number)
        )

    async def _keep_beating(self) -> None:
        while True:
            now = time.perf_counter()
            while self._due and self._due[0][0] <= now:
                due, number = heapq.heappop(self._due)
                task = asyncio.create_task(self._beat(self._members[number], due))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
            await asyncio.sleep(_TICK)

    async def _beat(self, member: Member, due: float) -> None:
        began = time.perf_counter()
        self.played.late.append(began - due)
        answer = await self._lines.ask(member.beat)
        if answer.status == 200:
            _note(self.played.beaten, began)
            self._plan(member.number, json.loads(answer.body))
            return
        self.played.beaten.errors += 1
        heapq.heappush(self._due, (began + random.uniform(0, _pause(answer)), member.number))


def _pause(answer: Answer) -> float:
    return 2.0 if answer.status in _TRY_AGAIN else 30.0


def _note(measured: Measured, began: float) -> None:
    measured.answers += 1
    measured.latencies.append(time.perf_counter() - began)


def _joining(member: Member, token: str) -> bytes:
    body = {
        "name": f"s{member.number}",
        "environment": f"e{member.number % 100}",
        "service_types": ["vm"],
        "cost": "low",
        "topic_name": f"dcm.agent.s{member.number}",
    }
    return _request("POST", "/api/v1/agents:join", token, json.dumps(body).encode())


def _heartbeat(agent_id: str, token: str) -> bytes:
    return _request("PUT", f"/api/v1/agents/{agent_id}/heartbeat", token, _BODY)


def _request(method: str, path: str, token: str, body: bytes) -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
