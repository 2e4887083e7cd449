"""Heartbeats of the demo's agents over HTTP: most are healthy, some are late, silent, flapping or odd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from controlplane.demo.calls import Refused
from controlplane.demo.roster import BEATING, FLAPPING, LATE, VERSION, behaviour_of

_LIST_SECONDS = 20.0
# Between "late" (1.5 intervals) and the end of the lease (3 intervals).
_LATE_INTERVALS = 2.2
# Longer than a lease and a sweep.
_SILENCE_INTERVALS = 4.0
# It falls silent early, to be seen, and then regularly: a damped return takes a lease, or several.
_EARLY_SILENCES, _HEARTBEATS_BEFORE_SILENCE = (1, 3), 8
# The agent has its own token, was deleted or was retired: the other agents continue.
_REJECTED_STATUSES = (403, 404, 409, 410)


@dataclass(slots=True)
class _Agent:
    """due: of its next heartbeat. heartbeats: how many it has sent."""

    name: str
    due: float
    heartbeats: int = 0


class Fleet:
    """The demo's agents. `call(method, path, body)` calls the API and returns its JSON, or raises."""

    def __init__(self, call: Callable[[str, str, Any], Any]) -> None:
        self._call = call
        self._agents: dict[str, _Agent] = {}
        self._rejected: set[str] = set()
        self._list_at = 0.0

    def step(self, now: float) -> None:
        """Send the heartbeats that are due at `now` (seconds, monotonic)."""
        if now >= self._list_at:
            self._list_agents(now)
        for agent_id, agent in list(self._agents.items()):
            if agent.due <= now:
                self._send_heartbeat(agent_id, agent, now)

    def _list_agents(self, now: float) -> None:
        """Find agents that registered since. Those of users have other names, and are left alone."""
        for agent in self._call("GET", "agents?limit=200&only=agent_id,name", None)["items"]:
            if agent["name"] in BEATING and agent["agent_id"] not in self._rejected:
                self._agents.setdefault(agent["agent_id"], _Agent(agent["name"], now))
        self._list_at = now + _LIST_SECONDS

    def _send_heartbeat(self, agent_id: str, agent: _Agent, now: float) -> None:
        try:
            reply = self._call("PUT", f"agents/{agent_id}/heartbeat", _heartbeat(agent.name))
        except Refused as error:
            if error.status not in _REJECTED_STATUSES:
                raise
            del self._agents[agent_id]
            self._rejected.add(agent_id)
            return
        agent.heartbeats += 1
        agent.due = now + _wait(agent, reply)


def _wait(agent: _Agent, reply: dict[str, Any]) -> float:
    interval = float(reply["heartbeat_interval"])
    if agent.name == LATE:
        return interval * _LATE_INTERVALS
    if agent.name == FLAPPING and _falls_silent(agent.heartbeats):
        return interval * _SILENCE_INTERVALS
    return float(reply["next_heartbeat_in_seconds"])


def _falls_silent(heartbeats: int) -> bool:
    return heartbeats in _EARLY_SILENCES or heartbeats % _HEARTBEATS_BEFORE_SILENCE == 0


def _heartbeat(name: str) -> dict[str, Any]:
    behaviour = behaviour_of(name)
    return {
        "timestamp": (datetime.now(UTC) + timedelta(seconds=behaviour.skew)).isoformat(),
        "consumer_lag": behaviour.consumer_lag,
        "versions": {"agent": behaviour.version or VERSION},
        "conditions": list(behaviour.conditions),
    }
