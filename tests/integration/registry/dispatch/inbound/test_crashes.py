"""A process is killed between two steps: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from controlplane.messaging.models import DeadLetter
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerSpec
from controlplane.messaging.streams import ADVISORIES, REQUESTS
from registry.dispatch.inbound import consuming
from registry.dispatch.inbound.consuming import consume_advisories, consume_answers
from registry.dispatch.models import ResourceRow, TimelineRow
from registry.dispatch.resources.requests import ResourceRequest, create_resource
from tests.support.agents_over_nats import answer_of, make_agent, publish, running
from tests.support.relay_processes import RelayProcess
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def _quick_redelivery(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANSWERS", "ADVISORIES"):
        monkeypatch.setattr(consuming, name, replace(getattr(consuming, name), ack_wait_seconds=0.5))


@pytest.mark.parametrize("point", ["answers.taken", "answers.committed"])
def test_an_answer_has_its_effect_once(nats: NatsConnection, tmp_path: Path, point: str) -> None:
    agent = make_agent("alpha")
    create_resource(ResourceRequest("web", "container", {}), actor=Actor(None, "admin"))
    publish(nats, "dcm.agents.responses", answer_of(agent, "creation-acknowledged", "web"))
    doomed = RelayProcess(tmp_path / "doomed.log", only="answers", FAILPOINT=point)
    assert doomed.wait() == -signal.SIGKILL, doomed.output
    assert ResourceRow.objects.get().state == ("pending" if point == "answers.taken" else "provisioning")

    with running(nats, consume_answers):
        until(lambda: nats.message("dcm-agent-responses", 1) is None)

    assert ResourceRow.objects.get().state == "provisioning"
    assert TimelineRow.objects.filter(what="dcm.agent.creation-acknowledged").count() == 1
    assert not DeadLetter.objects.exists()


def deliver_too_often(nats: NatsConnection) -> None:
    """Publish a request that its agent never acknowledges."""
    consumer = ConsumerSpec(REQUESTS, "alpha-consumer", ("dcm.agent.alpha",), max_deliveries=2)
    nats.ensure_consumer(consumer)
    body = {"specversion": "1.0", "id": "web", "type": "dcm.request.create", "source": "dcm/control-plane"}
    publish(nats, "dcm.agent.alpha", json.dumps({**body, "data": {"resource_id": "web"}}).encode())
    for _ in range(2):
        nats.fetch(consumer, limit=1, seconds=2)[0].nak()
    nats.fetch(consumer, limit=1, seconds=0.1)


def test_a_request_that_was_delivered_too_often_is_kept_and_leaves_its_queue(nats: NatsConnection) -> None:
    deliver_too_often(nats)

    with running(nats, consume_advisories, consume_advisories):
        letter = until(DeadLetter.objects.first)
        until(lambda: nats.message(REQUESTS, 1) is None)

    assert (letter.stream, letter.consumer, letter.subject) == (REQUESTS, "alpha-consumer", "dcm.agent.alpha")
    assert (letter.resource_id, json.loads(bytes(letter.payload))["id"]) == ("web", "web")
    assert letter.headers["Nats-Msg-Id"].startswith("m")
    assert letter.reason == "It was delivered 2 times without an acknowledgement."


def test_a_capture_that_was_interrupted_is_completed(nats: NatsConnection, tmp_path: Path) -> None:
    deliver_too_often(nats)
    doomed = RelayProcess(tmp_path / "doomed.log", only="advisories", FAILPOINT="advisories.stored")
    assert doomed.wait() == -signal.SIGKILL, doomed.output
    assert nats.message(REQUESTS, 1) is not None

    with running(nats, consume_advisories):
        until(lambda: nats.message(REQUESTS, 1) is None)
        until(lambda: all(one.ack_pending == one.pending == 0 for one in nats.consumers(ADVISORIES)))

    assert DeadLetter.objects.count() == 1
    assert Event.objects.filter(type="dead_letter.stored").count() == 1
