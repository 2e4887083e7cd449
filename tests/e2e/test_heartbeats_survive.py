"""What was acknowledged is there: the web process is killed in mid-load, and the database looked at.

The nightly lane `everything_killed` kills the worker, beat, Valkey and Postgres too, in a whole installation.
"""

from __future__ import annotations

import http.client
import io
import itertools
import json
import threading
from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.utils.dateparse import parse_datetime

from registry.agents.models import Agent, Lease
from registry.joining.models import JoinToken
from tests.support.api_client import AGENT, Api, token_for
from tests.support.launcher import Web
from tests.support.waiting import until

AGENTS = 40
CLIENTS = 8
JOINS = 10_000


class Client(threading.Thread):
    """Beats for its agents until it can no more, and keeps what each was told last."""

    def __init__(self, port: int, token: str, agents: list[str]) -> None:
        super().__init__(daemon=True)
        self.port, self.token, self.agents = port, token, agents
        self.answers: dict[str, str] = {}
        self.answered = 0

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            while True:
                for agent in self.agents:
                    self._beat(connection, agent)
        except (OSError, http.client.HTTPException):
            pass  # the server was killed

    def _beat(self, connection: http.client.HTTPConnection, agent: str) -> None:
        body = json.dumps({"timestamp": datetime.now(UTC).isoformat(), "consumer_lag": 0})
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("PUT", f"/api/v1/agents/{agent}/heartbeat", body, headers)
        answer = connection.getresponse()
        document = json.loads(answer.read())
        assert answer.status == 200, document
        self.answers[agent] = document["last_heartbeat"]
        self.answered += 1


class Joiner(threading.Thread):
    """Joins agents one after the other until the server is gone, and keeps the returned credentials."""

    def __init__(self, port: int, invitation: str) -> None:
        super().__init__(daemon=True)
        self.port, self.invitation = port, invitation
        self.tokens: dict[str, str] = {}

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {"Authorization": f"Bearer {self.invitation}", "Content-Type": "application/json"}
        try:
            for number in itertools.count():
                body = {**AGENT, "name": f"j{number}", "topic_name": f"dcm.agent.j{number}"}
                connection.request("POST", "/api/v1/agents:join", json.dumps(body), headers)
                answer = connection.getresponse()
                joined = json.loads(answer.read())
                assert answer.status == 201, joined
                self.tokens[joined["agent"]["agent_id"]] = joined["token"]
        except (OSError, http.client.HTTPException):
            pass  # the server was killed


@pytest.fixture
def web(live, tmp_path):
    running = Web(live.environment, tmp_path)
    try:
        running.wait_until_ready()
        yield running
    finally:
        if running.process.poll() is None:
            running.kill()


def test_nothing_that_was_acknowledged_is_lost_when_the_web_process_is_killed(web):
    token = token_for("agent")
    api = Api(token)
    agents = [
        api.post("agents", {**AGENT, "name": f"k{n}", "topic_name": f"dcm.agent.k{n}"}).json()["agent_id"]
        for n in range(AGENTS)
    ]
    clients = [Client(web.port, token, agents[start::CLIENTS]) for start in range(CLIENTS)]
    invitation = Api(token_for("admin")).post(
        "join-tokens", {"name": "j", "name_pattern": "j*", "uses": JOINS}
    )
    joiner = Joiner(web.port, invitation.json()["token"])
    for thread in (*clients, joiner):
        thread.start()
    until(
        lambda: (
            sum(client.answered for client in clients) > 500
            and all(len(client.answers) == len(client.agents) for client in clients)
            and len(joiner.tokens) > 10
        ),
        90,
    )

    web.kill()
    for thread in (*clients, joiner):
        thread.join(60)

    acknowledged = {agent: at for client in clients for agent, at in client.answers.items()}
    assert len(acknowledged) == AGENTS
    stored = dict(Lease.objects.filter(agent_id__in=agents).values_list("agent_id", "renewed_at"))
    lost = [agent for agent, at in stored.items() if at < parse_datetime(acknowledged[str(agent)])]
    assert lost == []
    every_join_holds(joiner)


def every_join_holds(joiner: Joiner) -> None:
    """Every returned credential works, and each agent has used the join token once."""
    joined = {str(agent) for agent in Agent.objects.filter(name__startswith="j").values_list("id", flat=True)}
    assert set(joiner.tokens) <= joined
    assert JoinToken.objects.get().uses_left == JOINS - len(joined)
    body = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
    for agent, token in joiner.tokens.items():
        assert Api(token).put(f"agents/{agent}/heartbeat", body).status_code == 200


def test_a_pause_of_changes_reaches_running_processes_with_the_next_request(live):
    """Also their fast paths, whose connections were open before."""
    agent = Api(token := token_for("admin")).post("agents", AGENT).json()["agent_id"]
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=10)

    def ask(method: str, path: str, body: object = None) -> tuple[int, dict[str, object], str | None]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request(method, f"/api/v1/{path}", None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.getheader("Retry-After")

    def beat() -> tuple[int, dict[str, object], str | None]:
        now = datetime.now(UTC).isoformat()
        return ask("PUT", f"agents/{agent}/heartbeat", {"timestamp": now, "consumer_lag": 0})

    assert [beat()[0] for _ in range(20)] == [200] * 20
    call_command("read_only", "on", reason="A test of pauses", verbosity=0, stdout=io.StringIO())
    for status, problem, seconds in (beat(), ask("PUT", "pools/p", {"capacity": 1}), beat()):
        assert (status, problem["code"], seconds) == (503, "read_only", "10")
        assert "A test of pauses" in str(problem["detail"])
    assert ask("GET", f"agents/{agent}")[0] == 200
    call_command("read_only", "off", stdout=io.StringIO())
    assert [beat()[0] for _ in range(5)] == [200] * 5
