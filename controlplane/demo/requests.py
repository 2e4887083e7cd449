"""The demo's agents fetch their requests by HTTPS, and answer them: one thread follows the events for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controlplane.demo.calls import Refused
from controlplane.demo.provisioning import answers
from controlplane.demo.roster import BEATING, CONGESTED

# An agent that has fetched nothing for 120 s gets no requests.
_FETCH_SECONDS = 45.0
_LIST_SECONDS = 20.0
# The congested agent fetches nothing.
_FETCHING = BEATING - {CONGESTED}
Call = Callable[[str, str], Any]


class Requests:
    """agents: calls the API as the agents, with a body too. reader: as somebody who may read events."""

    def __init__(self, agents: Callable[..., Any], reader: Call) -> None:
        self._agents, self._reader = agents, reader
        # By id: its name, and when it fetches at the latest.
        self._due: dict[str, tuple[str, float]] = {}
        self._list_at = 0.0
        self._after: int | None = None

    def step(self, now: float, *, wait: int) -> None:
        """Fetch for the agents that are due at `now` (seconds, monotonic), then for those with new requests.

        wait: how long to wait for such, in seconds.
        """
        if self._after is None:
            self._after = int(self._reader("GET", "events?limit=1")["next_after"])
        if now >= self._list_at:
            self._list_agents(now)
        for agent_id in [agent_id for agent_id, (_, due) in self._due.items() if due <= now]:
            self._fetch(agent_id, now)
        for agent_id in self._next_waiting(wait):
            if agent_id in self._due:
                self._fetch(agent_id, now)

    def _list_agents(self, now: float) -> None:
        listed = self._agents("GET", "agents?limit=200&only=agent_id,name,health_status")["items"]
        names = {
            agent["agent_id"]: agent["name"]
            for agent in listed
            if agent["name"] in _FETCHING and agent["health_status"] != "retired"
        }
        self._due = {key: self._due.get(key, (name, now)) for key, name in names.items()}
        self._list_at = now + _LIST_SECONDS

    def _next_waiting(self, wait: int) -> list[str]:
        path = f"events?type=agent.requests_waiting&after={self._after}&wait={wait}"
        events = self._reader("GET", path)
        self._after = int(events["next_after"])
        return list(dict.fromkeys(event["object_id"] for event in events["items"]))

    def _fetch(self, agent_id: str, now: float) -> None:
        name, _ = self._due[agent_id]
        self._due[agent_id] = (name, now + _FETCH_SECONDS)
        try:
            while requests := self._agents("GET", f"agents/{agent_id}/requests")["items"]:
                for request in requests:
                    for answer in answers(name, request["event"]):
                        self._agents("POST", f"agents/{agent_id}/answers", answer)
        except Refused as error:
            # The agent was deleted, or has a token of its own: the other agents continue.
            if error.status not in (403, 404, 409, 410):
                raise
