"""The agents behind the gateway: their last reports, and when the next heartbeat of each is due."""

from __future__ import annotations

import heapq
import json
import random
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

MAX_ENTRIES = 1000
# The control plane accepts bodies of a MiB.
MAX_BYTES = 900_000
_MAX_OFFSET = 1e9


@dataclass(slots=True)
class Member:
    """An agent. members: its report as JSON, without agent_id, timestamp and the closing brace.

    clock_offset: its clock minus ours, in seconds; None if it has sent no valid timestamp. is_spread: whether
    its heartbeats have their own place in the interval.
    """

    members: str
    reported_at: float
    clock_offset: float | None
    is_spread: bool = False
    result: dict[str, Any] | None = None


class Reports:
    """Safe for threads. Times are those of time.monotonic. limit: seconds after which a report is too old."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._agents: dict[str, Member] = {}
        self._due: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._agents)

    def accept(self, agent_id: str, report: dict[str, Any], now: float) -> dict[str, Any] | None:
        """Keep the report; return the last result of the agent's heartbeat. A new agent is due at once."""
        members = {name: value for name, value in report.items() if name not in ("agent_id", "timestamp")}
        text = "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in members.items())
        offset = _clock_offset(report.get("timestamp"))
        with self._lock:
            agent = self._agents.get(agent_id)
            if agent is None:
                self._agents[agent_id] = Member(text, now, offset)
                heapq.heappush(self._due, (now, agent_id))
                return None
            agent.members, agent.reported_at, agent.clock_offset = text, now, offset
            return agent.result

    def take_due(self, now: float, *, until: float) -> list[tuple[str, str]]:
        """Take agents that are due, with the entry of each. One whose report is too old is forgotten.

        Its lease then ends as if it had sent its heartbeats itself: the gateway keeps no dead agent alive.
        """
        entries: list[tuple[str, str]] = []
        size, time = 0, datetime.now(UTC)
        with self._lock:
            while self._due and self._due[0][0] <= until and len(entries) < MAX_ENTRIES and size < MAX_BYTES:
                _, agent_id = heapq.heappop(self._due)
                agent = self._agents[agent_id]
                if now - agent.reported_at > self.limit:
                    del self._agents[agent_id]
                    continue
                entry = _entry(agent_id, agent, time)
                entries.append((agent_id, entry))
                size += len(entry)
        return entries

    def is_due(self, until: float) -> bool:
        """Return whether any heartbeat is due until then."""
        with self._lock:
            return bool(self._due) and self._due[0][0] <= until

    def plan(self, agent_ids: Iterable[str], due: float) -> None:
        """Make agents that were taken due again."""
        with self._lock:
            for agent_id in agent_ids:
                heapq.heappush(self._due, (due, agent_id))

    def settle(self, results: Sequence[tuple[str, dict[str, Any], float]], now: float) -> None:
        """Keep the result of each agent that was taken; its next heartbeat is due after that many seconds.

        The first of them are spread over this time: otherwise the heartbeats of agents that were reported
        together would always be sent together.
        """
        with self._lock:
            for agent_id, result, wait in results:
                agent = self._agents[agent_id]
                agent.result = result
                share = 1.0 if agent.is_spread else random.random()  # noqa: S311  (no secret)
                agent.is_spread = True
                heapq.heappush(self._due, (now + share * wait, agent_id))


def _clock_offset(timestamp: Any) -> float | None:
    try:
        offset = (datetime.fromisoformat(timestamp) - datetime.now(UTC)).total_seconds()
    except (TypeError, ValueError):
        return None
    return offset if abs(offset) < _MAX_OFFSET else None


def _entry(agent_id: str, agent: Member, time: datetime) -> str:
    """Return the heartbeat as JSON, with the time that the agent's clock shows now."""
    own_time = time + timedelta(seconds=agent.clock_offset or 0)
    return f'{{"agent_id":"{agent_id}","timestamp":"{own_time.isoformat()}"{agent.members}}}'
