"""The reference gateway as a process against a real web server: it keeps agents alive that report to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.local.programs import free_port
from registry.agents.models import Agent, Lease
from tests.support.api_client import AGENT, Api, token_for
from tests.support.paths import ROOT
from tests.support.waiting import is_reachable, until

PROGRAM = ROOT / "examples" / "gateway" / "gateway.py"


class Gateway:
    def __init__(self, url: str, folder: Path, token: str) -> None:
        self.address, self.log = f"http://127.0.0.1:{free_port()}", folder / "gateway.log"
        environment = {
            "PATH": os.environ["PATH"],
            "CONTROLPLANE_URL": url,
            "GATEWAY_TOKEN": token,
            "GATEWAY_LISTEN": self.address.removeprefix("http://"),
            "GATEWAY_REPORT_SECONDS": "2",
        }
        command = [sys.executable, "-W", "error", str(PROGRAM)]
        self.process = subprocess.Popen(command, env=environment, stderr=self.log.open("wb"))

    def report(self, agent_id: str, **members: object) -> dict[str, object]:
        body = json.dumps({"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0, **members}).encode()
        request = urllib.request.Request(f"{self.address}/agents/{agent_id}", body, method="PUT")
        with urllib.request.urlopen(request, timeout=10) as answer:
            result: dict[str, object] = json.loads(answer.read())["result"] or {}
        return result


@pytest.fixture
def gateway(live, tmp_path) -> Iterator[tuple[Gateway, Api]]:
    token = token_for("agent")
    running = Gateway(live.url, tmp_path, token)
    try:
        until(lambda: is_reachable(f"{running.address}/status"), 60, running.log.read_text)
        yield running, Api(token)
    finally:
        running.process.kill()
        running.process.wait(10)


def register(api: Api, name: str) -> str:
    body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
    return str(api.post("agents", body).json()["agent_id"])


def test_it_keeps_agents_alive_that_report_and_no_others(gateway):
    process, api = gateway
    lively, dead = register(api, "lively"), register(api, "dead")
    foreign = register(Api(token_for("agent")), "foreign")
    process.report(dead)

    def dead_is_unavailable() -> bool:
        process.report(lively, versions={"agent": "1"})
        return Agent.objects.get(id=dead).state == "unavailable"

    until(dead_is_unavailable, 60, process.log.read_text)
    assert Agent.objects.get(id=lively).state == "ready"
    # Both had one heartbeat at least; the dead agent none after its only report was too old.
    assert not Lease.objects.filter(agent_id__in=[lively, dead], reported_at=None).exists()
    assert process.report(lively)["heartbeat"]["configuration_etag"] == ""

    until(lambda: process.report(foreign).get("code") == "permission_denied", 60, process.log.read_text)
    process.process.send_signal(signal.SIGTERM)
    assert process.process.wait(10) == 0
    assert "Traceback" not in process.log.read_text()
    assert "leases were renewed" in process.log.read_text()
