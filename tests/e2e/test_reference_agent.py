"""The reference agent as a process against a real web server: it joins, comes back, heals and leaves."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from registry.models import Agent, AgentReport, Provider
from tests.api_client import token_for

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "agent" / "agent.py"


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"status": "healthy"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Process:
    def __init__(self, url: str, folder: Path, token: str) -> None:
        self.file, self.log = folder / "providers.json", folder / "agent.log"
        self._environment = {
            "PATH": os.environ["PATH"],
            "CONTROLPLANE_URL": url,
            "AGENT_NAME": "reference",
            "AGENT_TOKEN": token,
            "AGENT_PROVIDERS_FILE": str(self.file),
            "AGENT_TASK_TYPES": "spark@v1",
        }

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", str(PROGRAM)],
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=self.log.open("ab"),
        )

    def list_providers(self, *providers: dict[str, str]) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(providers))
        new.replace(self.file)

    def until(self, what: Callable[[], bool], seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)


@pytest.fixture
def agent(live, tmp_path, endpoint) -> Iterator[Process]:
    running = Process(live.url, tmp_path, token_for("agent"))
    running.list_providers(provider("vms", "vm", endpoint))
    running.start()
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.wait(10)


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

    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(10) == 0
    assert AgentReport.objects.get(agent=first).conditions == [{"type": "Draining", "status": "true"}]
    assert "Traceback" not in agent.log.read_text()


def test_killed_it_comes_back_under_its_name_and_forgotten_it_registers_again(agent):
    agent.until(lambda: states() == {"vms": "ready"})
    first = Agent.objects.get(name="reference").id

    agent.process.kill()
    agent.process.wait(10)
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
    agent.process.wait(10)
    agent._environment["CONTROLPLANE_URL"] = "http://127.0.0.1:9"
    agent.start()
    agent.until(lambda: agent.log.read_text().count("no answer") >= 2)

    assert agent.process.poll() is None
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(10) == 0
