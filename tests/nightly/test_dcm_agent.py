"""The unmodified DCM agent against our control plane: each way that a request can go.

DCM_AGENT names its binary. With DCM_RECORD=1 the conversation is written to
tests/support/dcm_conversation.json, which test_dcm_conversation.py plays again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from controlplane.messaging.models import OutboxMessage
from registry.agents.models import Agent
from registry.dispatch.models import AssignmentRow, ResourceRow, TimelineRow
from registry.dispatch.placement.candidates import Requirements
from registry.dispatch.placement.choose import choose
from registry.dispatch.placement.load_candidates import load_candidates
from tests.conftest import system_environment
from tests.support.dcm_agent import (
    NAME,
    SERVICE_TYPE,
    SPEC,
    DcmAgent,
    Recording,
    StubProvider,
    cancel,
    create,
    delete,
    listen,
    pass_time,
)
from tests.support.launcher import Web
from tests.support.paths import ROOT
from tests.support.waiting import until

BINARY = os.environ.get("DCM_AGENT", "")
pytestmark = [
    pytest.mark.skipif(not BINARY, reason="DCM_AGENT does not name the binary of the DCM agent."),
    pytest.mark.django_db(transaction=True),
]
# Above the agent's shortest interval of heartbeats; nothing sweeps here.
LIVENESS = {"HEARTBEAT_INTERVAL_SECONDS": "30", "LEASE_SECONDS": "90"}


class Relay:
    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self.environment, self.log = environment, log
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "relay"],
            env={"PATH": os.environ["PATH"], **self.environment},
            stdout=self.log.open("ab"),
            stderr=subprocess.STDOUT,
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)


class World:
    """Web server, relay, the agent and its provider, and the recorded messages."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.folder, self.recording = folder, Recording()
        environment = {**environment, **LIVENESS, "DCM_AGENTS": "1"}
        self.web = Web(environment, folder)
        self.relay = Relay(environment, folder / "relay.log")
        self.provider = StubProvider()
        self.wire = listen(settings.NATS_URL, self.recording)
        self.agent = DcmAgent(BINARY, folder, url=self.web.url, nats_url=_nats_url())

    def start(self) -> None:
        self.wire.__enter__()
        self.provider.publish = self.wire.publish
        self.web.wait_until_ready()
        self.agent.start()
        self.agent.add_provider(self.provider.url)
        self.until(lambda: Agent.objects.filter(name=NAME, service_types=[SERVICE_TYPE]).exists(), 30)
        self.until(self.can_place, 40)

    def can_place(self) -> bool:
        requirements = Requirements(SERVICE_TYPE)
        return choose(requirements, load_candidates(requirements)).chosen is not None

    def turn(self, health: str) -> None:
        self.provider.health = health
        self.until(lambda: self.agent.provider_is("Ready" if health == "healthy" else "Unhealthy"))

    def create(self, resource_id: str) -> None:
        self.recording.note("create", resource_id)
        create(resource_id)

    def delete(self, resource_id: str) -> None:
        self.recording.note("delete", resource_id)
        delete(resource_id)

    def cancel(self, resource_id: str) -> None:
        self.recording.note("cancel", resource_id)
        cancel(resource_id)

    def pass_time(self, resource_id: str) -> None:
        self.recording.note("pass_time", resource_id)
        pass_time(resource_id)

    def becomes(self, resource_id: str, state: str, seconds: float = 30) -> None:
        self.until(lambda: ResourceRow.objects.get(id=resource_id).state == state, seconds)
        self.recording.note("becomes", resource_id, state=state)

    def until(self, condition: Any, seconds: float = 30) -> None:
        until(condition, seconds, self._explain)

    def verdicts_of(self, resource_id: str) -> list[tuple[str, str]]:
        rows = TimelineRow.objects.filter(resource=resource_id, what__startswith="dcm.").order_by("id")
        return [(row.what.removeprefix("dcm."), row.verdict) for row in rows]

    def end(self) -> None:
        self.agent.kill()
        self.relay.kill()
        self.web.kill()
        self.wire.__exit__()
        self.provider.close()

    def _explain(self) -> str:
        rows = list(ResourceRow.objects.values_list("id", "state", "reason"))
        lines = [f"{row} {row.text}" for row in TimelineRow.objects.order_by("id")]
        waiting = [str(one) for one in OutboxMessage.objects.filter(settled_at=None)]
        logs = [path.read_text()[-4000:] for path in (self.relay.log, self.agent.log)]
        return "\n".join(map(str, (rows, *lines, *waiting, self.provider.calls[-5:], *logs)))


def _nats_url() -> str:
    """With logins at NATS, agents of DCM share a user of their own."""
    password = getattr(settings, "NATS_DCM_PASSWORD", "")
    if not password:
        return str(settings.NATS_URL)
    parts = urlsplit(settings.NATS_URL)
    return f"nats://dcm:{password}@{parts.hostname}:{parts.port}"


@pytest.fixture
def world(services: Any, tmp_path: Path) -> Iterator[World]:
    running = World(system_environment(services), tmp_path)
    try:
        running.start()
        yield running
    finally:
        running.end()


def test_every_way_of_a_request(world):
    """One after the other, since each restart of the agent costs seconds."""
    for scenario in (
        _lives_and_is_deleted,
        _waits_for_its_provider,
        _is_deleted_while_it_waits,
        _is_cancelled_while_it_waits,
        _is_cancelled_too_late,
        _is_refused,
        _is_tried_in_vain,
        _survives_the_agent,
        _survives_the_relay,
    ):
        world.recording.begin(scenario.__name__.strip("_"))
        scenario(world)
        # Its last answers belong to its recording.
        world.until(lambda: not OutboxMessage.objects.filter(settled_at=None).exists())
    assert set(AssignmentRow.objects.values_list("epoch", flat=True)) == {1}
    if os.environ.get("DCM_RECORD"):
        world.recording.write()


def _lives_and_is_deleted(world: World) -> None:
    world.create("lives")
    world.becomes("lives", "provisioning")
    assert [(call.method, call.key, call.body) for call in world.provider.calls] == [("POST", "lives", SPEC)]
    world.provider.report("lives", "RUNNING", ip="10.0.0.1")
    world.becomes("lives", "running")
    assert ResourceRow.objects.get(id="lives").output == {"ip": "10.0.0.1"}
    world.delete("lives")
    world.becomes("lives", "deleted")
    assert world.provider.seen("lives") == [("POST", "lives"), ("DELETE", "lives.d1")]
    assert world.verdicts_of("lives")[:3] == [
        ("request.create", "sent"),
        ("agent.creation-acknowledged", "applied"),
        ("status", "applied"),
    ]


def _waits_for_its_provider(world: World) -> None:
    world.turn("unhealthy")
    world.create("waits")
    world.becomes("waits", "queued")
    assert world.provider.seen("waits") == []
    world.turn("healthy")
    world.becomes("waits", "provisioning")
    world.provider.report("waits", "RUNNING")
    world.becomes("waits", "running")
    assert world.provider.seen("waits") == [("POST", "waits")]


def _is_deleted_while_it_waits(world: World) -> None:
    world.turn("unhealthy")
    world.create("both")
    world.becomes("both", "queued")
    world.delete("both")
    world.until(lambda: ("agent.request-queued", "noted") in world.verdicts_of("both"))
    world.turn("healthy")
    world.becomes("both", "deleted")
    assert world.provider.seen("both") == []


def _is_cancelled_while_it_waits(world: World) -> None:
    world.turn("unhealthy")
    world.create("stopped")
    world.becomes("stopped", "queued")
    world.cancel("stopped")
    world.until(lambda: ("agent.cancel-acknowledged", "noted") in world.verdicts_of("stopped"))
    world.turn("healthy")
    # The agent forgets the deletion that it holds together with the creation, and answers neither.
    world.pass_time("stopped")
    world.becomes("stopped", "cancelled")
    assert ("POST", "stopped") not in world.provider.seen("stopped")


def _is_cancelled_too_late(world: World) -> None:
    world.provider.delay = 2.0
    world.create("late")
    world.until(lambda: world.provider.seen("late"))
    world.cancel("late")
    world.becomes("late", "cancelled")
    world.provider.delay = 0.0
    assert ("agent.cancel-rejected", "noted") in world.verdicts_of("late")
    assert world.provider.seen("late") == [("POST", "late"), ("DELETE", "late.d1")]


def _is_refused(world: World) -> None:
    world.provider.status = 422
    world.create("refused")
    world.becomes("refused", "failed")
    assert world.provider.seen("refused") == [("POST", "refused")]
    world.provider.status = 201
    world.delete("refused")
    world.becomes("refused", "deleted")


def _is_tried_in_vain(world: World) -> None:
    world.provider.status = 503
    world.create("broken")
    world.becomes("broken", "failed")
    assert world.provider.seen("broken") == [("POST", "broken")] * 3
    assert "RETRY_EXHAUSTED" in AssignmentRow.objects.get(resource="broken").reason
    world.provider.status = 201
    world.delete("broken")
    world.becomes("broken", "deleted")


def _survives_the_agent(world: World) -> None:
    world.agent.kill()
    world.create("later")
    world.agent.start()
    world.becomes("later", "provisioning", 60)
    world.agent.kill()
    world.delete("later")
    world.agent.start()
    world.becomes("later", "deleted", 60)
    assert world.provider.seen("later") == [("POST", "later"), ("DELETE", "later.d1")]


def _survives_the_relay(world: World) -> None:
    world.relay.kill()
    world.create("patient")
    world.provider.delay = 2.0
    world.relay.start()
    world.until(lambda: world.provider.seen("patient"))
    # The answer comes while nobody listens.
    world.relay.kill()
    world.until(lambda: world.recording.scenarios["survives_the_relay"][-1].get("received"))
    assert ResourceRow.objects.get(id="patient").state == "pending"
    world.provider.delay = 0.0
    world.relay.start()
    world.becomes("patient", "provisioning")
    world.delete("patient")
    world.becomes("patient", "deleted")
    assert world.provider.seen("patient") == [("POST", "patient"), ("DELETE", "patient.d1")]
