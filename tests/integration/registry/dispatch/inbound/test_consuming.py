"""Answers and statuses arrive over a real NATS: each has its effect once, and none disappears."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import OperationalError

from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from controlplane.messaging.models import DeadLetter
from controlplane.messaging.nats import NatsConnection
from registry.dispatch.inbound import arrivals
from registry.dispatch.inbound.consuming import ANSWERS, consume_answers, consume_statuses
from registry.dispatch.models import ResourceRow, TimelineRow
from registry.dispatch.nats_logins.models import NatsLogin
from registry.dispatch.resources.requests import ResourceRequest, create_resource
from tests.support.agents_over_nats import answer_of, event, make_agent, publish, running, status_of
from tests.support.waiting import until

ACTOR = Actor(None, "admin")
SHARED = "dcm.agents.responses"


def request(resource_id: str) -> None:
    create_resource(ResourceRequest(resource_id, "container", {}), actor=ACTOR)


def state_of(resource_id: str) -> str:
    return ResourceRow.objects.get(id=resource_id).state


def is_read(nats: NatsConnection) -> bool:
    """Is every answer acknowledged, and so gone from its work queue?"""
    return nats.message("dcm-agent-responses", 1) is None and not any(
        one.pending or one.ack_pending for one in nats.consumers("dcm-agent-responses")
    )


def test_an_answer_and_a_status_are_applied_once(nats):
    agent = make_agent("alpha")
    request("web")
    answer = answer_of(agent, "creation-acknowledged", "web")
    publish(nats, SHARED, answer, answer)
    publish(nats, "dcm.container", status_of("web", "RUNNING"))

    with running(nats, consume_answers, consume_statuses):
        until(lambda: state_of("web") == "running")
        until(lambda: is_read(nats))

    acknowledged = TimelineRow.objects.filter(what="dcm.agent.creation-acknowledged")
    assert acknowledged.count() == 1
    assert not DeadLetter.objects.exists()


def test_an_answer_is_delivered_again_after_an_error_of_the_database(nats, monkeypatch):
    agent = make_agent("alpha")
    request("web")
    publish(nats, SHARED, answer_of(agent, "creation-acknowledged", "web"))
    failures = iter([OperationalError("gone"), OperationalError("gone")])
    receive = arrivals.receive_message

    def fail_twice(*args):
        if error := next(failures, None):
            raise error
        return receive(*args)

    monkeypatch.setattr(arrivals, "receive_message", fail_twice)
    with running(nats, consume_answers):
        until(lambda: state_of("web") == "provisioning")
        until(lambda: is_read(nats))

    assert not DeadLetter.objects.exists()


def test_a_mistake_of_ours_holds_up_no_other_message_and_ends_as_a_dead_letter(nats, monkeypatch):
    agent = make_agent("alpha")
    request("web")
    request("other")
    bodies = [answer_of(agent, "creation-acknowledged", name) for name in ("web", "other")]
    receive = arrivals.receive_message

    def fail(envelope, sender):
        if envelope.data["resource_id"] == "web":
            raise RuntimeError("a mistake")
        return receive(envelope, sender)

    monkeypatch.setattr(arrivals, "receive_message", fail)
    publish(nats, SHARED, *bodies)
    with running(nats, consume_answers):
        until(lambda: state_of("other") == "provisioning")
        letter = until(DeadLetter.objects.first)

    assert (letter.resource_id, letter.deliveries) == ("web", 10)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "It is no CloudEvent."),
        (event("e" * 300, "dcm/agents/alpha", "dcm.agent.error", {}), "longer than 255"),
        (event("e1", "dcm/agents/alpha", "dcm.agent.nonsense", {"agent_name": "alpha"}), "no resource ''"),
        (
            event(
                "e1", "dcm/agents/alpha", "dcm.agent.nonsense", {"agent_name": "alpha", "resource_id": "web"}
            ),
            "is no answer",
        ),
        (
            event(
                "e1",
                "dcm/agents/alpha",
                "dcm.agent.error",
                {"agent_name": "alpha", "resource_id": "unknown", "error": "MAX_DELIVERY_EXCEEDED"},
            ),
            "The agent reports MAX_DELIVERY_EXCEEDED for a request that it could not read.",
        ),
        (
            event(
                "e1", "dcm/agents/nobody", "dcm.agent.error", {"agent_name": "nobody", "resource_id": "web"}
            ),
            "There is no agent 'nobody'.",
        ),
    ],
)
def test_what_nobody_can_handle_is_kept_with_its_payload(nats, body, reason):
    make_agent("alpha")
    request("web")
    publish(nats, SHARED, body)

    with running(nats, consume_answers):
        letter = until(DeadLetter.objects.first)
        until(lambda: is_read(nats))

    assert reason in letter.reason
    assert (bytes(letter.payload), letter.subject, letter.state) == (body, SHARED, "open")
    assert Event.objects.filter(type="dead_letter.stored", object_id=str(letter.id)).exists()
    assert state_of("web") == "pending"


def test_nobody_can_answer_for_an_agent_with_an_identity_of_its_own(nats):
    agent, other = (
        make_agent("alpha", registered_by=uuid4()),
        make_agent("beta", registered_by=uuid4(), state="draining"),
    )
    request("web")
    spoofed = answer_of(agent, "creation-acknowledged", "web")
    publish(nats, SHARED, spoofed)
    # Its subject proves that it is of beta, whatever it says.
    publish(nats, f"dcm.agents.{other.id}.responses", spoofed)

    with running(nats, consume_answers):
        until(lambda: DeadLetter.objects.count() == 2)
        assert state_of("web") == "pending"
        publish(nats, f"dcm.agents.{agent.id}.responses", spoofed)
        until(lambda: state_of("web") == "provisioning")
        publish(nats, f"dcm.agents.{agent.id}.responses", status_of("web", "RUNNING"))
        until(lambda: state_of("web") == "running")

    reasons = " ".join(DeadLetter.objects.values_list("reason", flat=True))
    assert "has an identity of its own" in reasons
    assert "The sender never had the resource 'web'." in reasons


def test_nobody_can_report_on_a_resource_at_an_agent_with_a_login_of_its_own(nats):
    agent = make_agent("alpha", registered_by=uuid4())
    NatsLogin.objects.create(agent=agent, digest=b"0" * 32, hint="cp_nat_0")
    request("web")
    publish(nats, "dcm.container", status_of("web", "DELETED"))

    with running(nats, consume_statuses):
        letter = until(DeadLetter.objects.first)

    assert "has an identity of its own" in letter.reason
    assert state_of("web") == "pending"


@pytest.mark.parametrize("dcm_agents", [True, False])
def test_an_agent_of_dcm_with_a_token_shares_the_login_of_the_others(nats, settings, dcm_agents):
    settings.DCM_AGENTS = dcm_agents
    agent = make_agent("alpha", registered_by=uuid4())
    request("web")
    publish(nats, SHARED, answer_of(agent, "creation-acknowledged", "web"))

    with running(nats, consume_answers):
        until(lambda: is_read(nats))
    assert state_of("web") == ("provisioning" if dcm_agents else "pending")


def test_statuses_apply_in_the_order_of_their_stream_whatever_the_order_of_delivery(nats):
    agent = make_agent("alpha")
    request("web")
    publish(nats, SHARED, answer_of(agent, "creation-acknowledged", "web"))
    publish(nats, "dcm.container", status_of("web", "PROVISIONING", 1), status_of("web", "RUNNING", 2))
    with running(nats, consume_answers):
        until(lambda: state_of("web") == "provisioning")
    first, second = (arrival_of(nats, sequence) for sequence in (1, 2))

    assert arrivals.apply(second)
    assert not arrivals.apply(first)
    assert state_of("web") == "running"


def arrival_of(nats: NatsConnection, sequence: int) -> arrivals.Arrival:
    stored = nats.message("dcm-status", sequence)
    assert stored is not None
    return arrivals.Arrival(stored.subject, stored.body, stored.sequence, stored.stored_at)


def test_a_provider_reports_only_on_resources_of_its_type(nats):
    make_agent("alpha")
    request("web")
    publish(nats, "dcm.vm", status_of("web", "RUNNING", service_type="vm"))

    with running(nats, consume_statuses):
        letter = until(DeadLetter.objects.first)

    assert letter.reason == "It reports a status of type vm for a resource of container."


def test_three_consumers_share_the_answers(nats):
    agent = make_agent("alpha")
    names = [f"r{number}" for number in range(20)]
    for name in names:
        request(name)
    for name in names:
        answer = answer_of(agent, "creation-acknowledged", name)
        publish(nats, SHARED, answer, answer)

    with running(nats, consume_answers, consume_answers, consume_answers):
        until(lambda: is_read(nats))

    assert set(ResourceRow.objects.values_list("state", flat=True)) == {"provisioning"}
    acknowledged = TimelineRow.objects.filter(what="dcm.agent.creation-acknowledged")
    assert acknowledged.count() == len(names)
    assert nats.consumers(ANSWERS.stream)[0].name == ANSWERS.name
