"""The reference agent as a process against a real web server: it joins, comes back, heals and leaves."""

from __future__ import annotations

import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controlplane.access.issuer_models import TrustedIssuer
from controlplane.access.models import Token
from controlplane.events.models import Event
from registry.agents.models import Agent, AgentReport, Lease
from registry.joining.models import JoinToken
from registry.providers.models import Provider
from tests.support.api_client import Api, token_for
from tests.support.launcher import Web
from tests.support.paths import ROOT
from tests.support.token_issuer import running_issuer
from tests.support.waiting import until

PROGRAM = ROOT / "examples" / "agent" / "agent.py"


class Health(http.server.BaseHTTPRequestHandler):
    fails = False

    def do_GET(self) -> None:
        if Health.fails:
            self.send_error(500)
            return
        body = json.dumps({"status": "healthy"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    Health.fails = False
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Process:
    def __init__(self, url: str, folder: Path, token: str) -> None:
        self.file, self.log = folder / "providers.json", folder / "agent.log"
        self.environment = {
            "PATH": os.environ["PATH"],
            "CONTROLPLANE_URL": url,
            "AGENT_NAME": "reference",
            "AGENT_TOKEN": token,
            "AGENT_PROVIDERS_FILE": str(self.file),
            "AGENT_TASK_TYPES": "spark@v1",
            "AGENT_STATE_FILE": str(folder / "own.token"),
            "AGENT_PROBE_SECONDS": "0.3",
        }

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(PROGRAM)],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=self.log.open("ab"),
        )

    def list_providers(self, *providers: dict[str, str]) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(providers))
        new.replace(self.file)

    def until(self, what: Callable[[], bool], seconds: float = 60) -> None:
        until(what, seconds, self.log.read_text)

    def leave(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)


@pytest.fixture
def agent(live, tmp_path, endpoint) -> Iterator[Process]:
    running = Process(live.url, tmp_path, token_for("agent"))
    running.list_providers(provider("vms", "vm", endpoint))
    running.start()
    yield running
    running.end()


@pytest.fixture
def web(live, tmp_path) -> Iterator[Web]:
    """A web server that can be stopped and started again."""
    running = Web(live.environment, tmp_path, workers=1)
    try:
        running.wait_until_ready()
        yield running
    finally:
        running.kill()


def provider(name: str, service_type: str, endpoint: str) -> dict[str, str]:
    return {"name": name, "service_type": service_type, "endpoint": endpoint, "schema_version": "v1"}


def states() -> dict[str, str]:
    return dict(Provider.objects.values_list("name", "state"))


def test_it_joins_follows_its_providers_and_leaves_in_good_order(agent, endpoint):
    agent.until(lambda: states() == {"vms": "ready"})
    first = Agent.objects.get(name="reference")
    assert first.service_types == ["vm"]
    assert first.task_types == [{"name": "spark", "version": "v1"}]
    assert first.service_type_conditions[0]["status"] == "ready"

    agent.list_providers(provider("vms", "vm", endpoint), provider("disks", "storage", "http://127.0.0.1:9"))
    agent.until(lambda: set(states()) == {"vms", "disks"})
    agent.until(lambda: Agent.objects.get(id=first.id).service_types == ["storage", "vm"])
    agent.list_providers(provider("disks", "storage", "http://127.0.0.1:9"))
    agent.until(lambda: set(states()) == {"disks"})

    assert agent.leave() == 0
    assert AgentReport.objects.get(agent=first).conditions == [{"type": "Draining", "status": "true"}]
    assert "Traceback" not in agent.log.read_text()


def test_killed_it_comes_back_under_its_name_and_forgotten_it_registers_again(agent):
    agent.until(lambda: states() == {"vms": "ready"})
    first = Agent.objects.get(name="reference").id

    agent.process.kill()
    agent.process.wait(60)
    agent.start()
    agent.until(lambda: Agent.objects.get(name="reference").lease.generation == 2)
    assert Agent.objects.get(name="reference").id == first

    Agent.objects.all().delete()
    agent.until(lambda: states() == {"vms": "ready"})
    assert Agent.objects.get(name="reference").id != first
    assert agent.process.poll() is None
    assert "does not know us" in agent.log.read_text()


def test_it_waits_for_a_control_plane_that_is_away(agent, tmp_path):
    agent.process.kill()
    agent.process.wait(60)
    agent.environment["CONTROLPLANE_URL"] = "http://127.0.0.1:9"
    agent.start()
    agent.until(lambda: agent.log.read_text().count("no answer") >= 2)

    assert agent.process.poll() is None
    assert agent.leave() == 0


def test_with_a_join_token_it_lives_through_all_that_happens_to_an_agent(web, tmp_path, endpoint):
    operator = Api(token_for("admin"))
    body = {"name": "one", "name_pattern": "reference", "uses": 1}
    agent = Process(web.url, tmp_path, operator.post("join-tokens", body).json()["token"])
    agent.list_providers(provider("vms", "vm", endpoint))
    agent.start()
    try:
        agent.until(lambda: states() == {"vms": "ready"})
        first = Agent.objects.get(name="reference").id

        Health.fails = True
        agent.until(lambda: states() == {"vms": "unavailable"})
        assert Agent.objects.get(id=first).state == "ready"
        Health.fails = False
        agent.until(lambda: states() == {"vms": "ready"})

        web.kill()
        agent.until(lambda: "no answer" in agent.log.read_text())
        web.start()
        web.wait_until_ready()
        before = Lease.objects.get(agent_id=first).renewed_at
        # Within an interval (a second here) and the ten of a call that hung, however long we were away.
        agent.until(lambda: Lease.objects.get(agent_id=first).renewed_at > before)
        assert Lease.objects.get(agent_id=first).generation == 1

        # The join token is used up: it comes back with the token of its own.
        assert operator.delete(f"agents/{first}?force=true").status_code == 204
        agent.until(lambda: states() == {"vms": "ready"})
        second = Agent.objects.get(name="reference").id
        assert second != first

        # As after the restore of a backup that is older than it: nobody knows its own token either.
        own = Agent.objects.get(id=second).registered_by
        Agent.objects.all().delete()
        Token.objects.filter(principal_id=own).delete()
        JoinToken.objects.update(uses_left=1)
        agent.until(lambda: states() == {"vms": "ready"})
        third = Agent.objects.get(name="reference").id
        assert third not in (first, second)

        assert agent.leave() == 0
    finally:
        agent.end()
    assert Agent.objects.get(id=third).state == "retired"
    assert AgentReport.objects.get(agent_id=third).conditions == [{"type": "Draining", "status": "true"}]
    assert Event.objects.get(type="agent.retired", object_id=str(third)).data["reason"] == "Deregistered."
    assert "Traceback" not in agent.log.read_text()


def test_it_registers_and_beats_before_it_knows_whether_any_provider_is_usable(live, tmp_path):
    silent = socket.create_server(("127.0.0.1", 0))  # it accepts, and never answers
    url = f"http://127.0.0.1:{silent.getsockname()[1]}"
    agent = Process(live.url, tmp_path, token_for("agent"))
    # One probe after the other, five seconds each: 80 seconds, longer than `until` waits.
    agent.list_providers(*(provider(f"p{n}", f"t{n}", url) for n in range(16)))
    agent.start()
    try:
        agent.until(lambda: Lease.objects.filter(reported_at__isnull=False).exists())
        assert sorted(Agent.objects.get().service_types) == sorted(f"t{n}" for n in range(16))
        assert set(states()) == {f"p{n}" for n in range(16)}
    finally:
        agent.end()
        silent.close()


def test_it_joins_with_its_issuers_token_and_renews_its_own_before_that_ends(live, tmp_path):
    with running_issuer() as issuer:
        TrustedIssuer.objects.create(
            issuer=issuer.url, jwks=issuer.jwks, audiences=["us"], rules=[], max_ttl=3600
        )
        rule = {"issuer": issuer.url, "match": {"sub": "reference"}}
        invitation = {"name": "pods", "name_pattern": "*", "issuer_rule": rule}
        assert Api(token_for("admin")).post("join-tokens", invitation).status_code == 201
        file = tmp_path / "subject"
        file.write_text(issuer.token(aud="us", sub="reference", jti="1", exp=int(time.time()) + 5))
        agent = Process(live.url, tmp_path, "")
        agent.environment |= {"AGENT_SUBJECT_TOKEN_FILE": str(file)}
        agent.list_providers()
        agent.start()
        try:
            agent.until(Lease.objects.exists)
            file.write_text(issuer.token(aud="us", sub="reference", jti="2"))
            ends_at = Token.objects.get(principal__kind="agent").expires_at
            agent.until(lambda: Lease.objects.filter(renewed_at__gt=ends_at, generation=2).exists())
        finally:
            agent.end()
    assert Agent.objects.get().state == "ready"
    assert JoinToken.objects.get().uses_left == 0
    assert Token.objects.filter(principal__kind="agent").count() == 2
