"""An agent that fetches its requests by HTTPS, in the hands of a test."""

from __future__ import annotations

from tests.support.api_client import AGENT, Api, token_for


class PlayedAgent:
    """It has a long lease, because it sends no heartbeats."""

    def __init__(self, name: str) -> None:
        admin = Api(token_for("admin"))
        invitation = admin.post("join-tokens", {"name": name, "name_pattern": name}).json()["token"]
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", "service_types": ["vm"]}
        joined = Api(invitation).post("agents:join", body).json()
        self.path = f"agents/{joined['agent']['agent_id']}"
        lease = admin.post(f"{self.path}:set-lease", {"lease_seconds": 3600})
        assert lease.status_code == 200, lease.content
        self.api = Api(joined["token"])
        self.sequence = 0
        assert self.fetch() == []

    def fetch(self) -> list[str]:
        """The types of the requests that wait."""
        answer = self.api.get(f"{self.path}/requests")
        assert answer.status_code == 200, answer.content
        return [item["event"]["type"] for item in answer.json()["items"]]

    def answer(self, event_type: str, **data: object) -> None:
        self.sequence += 1
        event = {"specversion": "1.0", "id": f"event-{self.sequence}", "source": "dcm/agents/played"}
        answer = self.api.post(f"{self.path}/answers", {**event, "type": event_type, "data": data})
        assert answer.status_code == 202, answer.content
