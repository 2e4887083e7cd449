"""Requests from the API through the reference agent to real processes, and back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from controlplane.identity.actors import Actor
from controlplane.local.programs import free_port
from controlplane.messaging.models import OutboxMessage
from registry.dispatch.models import AssignmentRow, ResourceRow, TimelineRow
from registry.dispatch.resources.requests import (
    ResourceRequest,
    cancel_resource,
    create_resource,
    delete_resource,
)
from registry.providers.models import Provider
from tests.support.api_client import ADMINISTRATOR, token_for
from tests.support.paths import ROOT
from tests.support.waiting import is_reachable, until

FOLDER = ROOT / "examples" / "agent"
ACTOR = Actor(None, "admin")


class Site:
    """An agent and its two providers as processes."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder, self.log = folder, folder / "site.log"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ports = {"process": free_port(), "slow": free_port()}
        self.environment = {
            "PATH": os.environ["PATH"],
            "CONTROLPLANE_URL": url,
            "AGENT_NAME": "edge",
            "AGENT_TOKEN": token_for("agent"),
            "AGENT_PROVIDERS_FILE": str(folder / "providers.json"),
            "AGENT_STATE_FILE": str(folder / "own.token"),
            "AGENT_WORK_FILE": str(folder / "work.json"),
            "AGENT_PROBE_SECONDS": "0.2",
            "AGENT_POLL_SECONDS": "0.1",
            "PROVIDER_FOLDER": str(folder / "processes"),
        }
        providers = [
            {"name": name, "service_type": name, "schema_version": "v1", "endpoint": self.url(name)}
            for name in self.ports
        ]
        (folder / "providers.json").write_text(json.dumps(providers))
        for name, port in self.ports.items():
            self.start(f"{name}_provider", PROVIDER_PORT=str(port))
            until(lambda name=name: is_reachable(f"{self.url(name)}/health"))
        self.start("agent")

    def url(self, provider: str) -> str:
        return f"http://127.0.0.1:{self.ports[provider]}"

    def start(self, program: str, **more: str) -> None:
        self.processes[program] = subprocess.Popen(
            [sys.executable, "-W", "error", str(FOLDER / f"{program}.py")],
            env={**self.environment, **more},
            stdout=subprocess.DEVNULL,
            stderr=self.log.open("ab"),
        )

    def order(self, **order: Any) -> None:
        request = urllib.request.Request(
            f"{self.url('slow')}/admin", json.dumps(order).encode(), {}, method="PUT"
        )
        urllib.request.urlopen(request, timeout=30).close()

    def kill(self, program: str) -> None:
        self.processes[program].kill()
        self.processes[program].wait(60)

    def drain(self) -> float:
        began = time.monotonic()
        self.processes["agent"].send_signal(signal.SIGTERM)
        assert self.processes["agent"].wait(60) == 0, self.log.read_text()
        return time.monotonic() - began

    def work(self) -> dict[str, Any]:
        return json.loads((self.folder / "work.json").read_text())

    def until(self, condition: Any, seconds: float = 60) -> None:
        until(condition, seconds, lambda: f"{rows()}\n{timeline()}\n{self.log.read_text()}")

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait(60)
        for file in (self.folder / "processes").glob("*.json"):
            with suppress(OSError):
                os.killpg(json.loads(file.read_text())["pid"], signal.SIGKILL)


def rows() -> dict[str, str]:
    return dict(ResourceRow.objects.values_list("id", "state"))


def timeline() -> list[str]:
    return [f"{row} {row.text}" for row in TimelineRow.objects.order_by("id")]


@pytest.fixture
def site(live, tmp_path) -> Iterator[Site]:
    running = Site(live.url, tmp_path)
    try:
        running.until(lambda: dict(Provider.objects.values_list("name", "state")) == {
            "process": "ready", "slow": "ready",
        })  # fmt: skip
        yield running
    finally:
        running.end()


def request_resource(resource_id: str, service_type: str, **spec: Any) -> None:
    create_resource(ResourceRequest(resource_id, service_type, spec), actor=ACTOR)


def remove(resource_id: str) -> None:
    delete_resource(resource_id, force=False, caller=ADMINISTRATOR, actor=ACTOR)


def test_a_process_runs_is_reachable_and_goes_away(site):
    request_resource("web", "process", command="http-server")
    site.until(lambda: rows() == {"web": "running"})
    output = ResourceRow.objects.get().output
    until(lambda: is_reachable(output["url"]))

    # Killed with a request under way and a process that runs: the next one goes on.
    site.kill("agent")
    request_resource("nap", "process", command="sleep", seconds=60)
    site.start("agent")
    site.until(lambda: rows() == {"web": "running", "nap": "running"})

    request_resource("rm", "process", command="rm -rf /")
    site.until(lambda: rows()["rm"] == "failed")
    assert "not allowed" in AssignmentRow.objects.get(resource="rm").reason

    os.kill(ResourceRow.objects.get(id="nap").output["pid"], signal.SIGKILL)
    site.until(lambda: rows()["nap"] == "failed")
    for resource_id in ("web", "nap", "rm"):
        remove(resource_id)
    site.until(lambda: set(rows().values()) == {"deleted"})
    assert not is_reachable(output["url"])
    assert not OutboxMessage.objects.filter(settled_at=None).exists()
    assert site.drain() < 10
    assert "Traceback" not in site.log.read_text()


def test_it_holds_requests_while_its_provider_is_unhealthy(site):
    site.order(health="unhealthy")
    site.until(lambda: Provider.objects.get(name="slow").state == "unhealthy")
    # Placement waits for a healthy provider: these are as if they were sent just before.
    Provider.objects.update(state="ready")
    _offer("slow")
    for resource_id in ("stays", "deleted", "cancelled"):
        request_resource(resource_id, "slow")
    site.until(lambda: set(rows().values()) == {"queued"})
    remove("deleted")
    cancel_resource("cancelled", caller=ADMINISTRATOR, actor=ACTOR)
    site.until(lambda: rows()["deleted"] == "deleted")
    site.kill("agent")
    site.start("agent")
    site.order()
    site.until(lambda: rows() == {"stays": "running", "deleted": "deleted", "cancelled": "cancelled"})
    assert site.work()["held"] == []


def _offer(service_type: str) -> None:
    from registry.agents.models import Agent

    for agent in Agent.objects.all():
        for condition in agent.service_type_conditions:
            if condition["service_type"] == service_type:
                condition["status"] = "ready"
        agent.save()


def test_it_tries_again_reports_what_cannot_succeed_and_finishes_before_it_leaves(site):
    request_resource("third-time", "slow", fail_with=503, fail_times=2)
    request_resource("never", "slow", fail_with=422)
    request_resource("broken", "slow", becomes="FAILED")
    site.until(lambda: rows() == {"third-time": "running", "never": "failed", "broken": "failed"})
    assert "422" in AssignmentRow.objects.get(resource="never").reason

    request_resource("under-way", "slow", delay_seconds=2)
    site.until(lambda: any("under-way" in key for key in site.work()["accepted"]))
    cancel_resource("under-way", caller=ADMINISTRATOR, actor=ACTOR)
    assert site.drain() > 1
    work = site.work()
    assert work["outgoing"] == []
    assert not [key for key in work["accepted"] if key.startswith("dcm.request.create")]
    assert TimelineRow.objects.filter(resource="under-way", what="dcm.agent.creation-acknowledged").exists()
    # It existed after all, so it is deleted by the next process.
    site.start("agent")
    site.until(lambda: rows()["under-way"] == "cancelled")
