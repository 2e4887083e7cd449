"""Agents that fetch their requests by HTTPS, and send their answers the same way."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import F
from django.db.models.functions import Now

from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from controlplane.messaging.models import OutboxMessage
from registry.agents.models import Agent
from registry.dispatch.models import AgentMessaging, AssignmentRow, ResourceRow
from registry.dispatch.resources.requests import (
    ResourceRequest,
    cancel_resource,
    create_resource,
    delete_resource,
)
from tests.support.api_client import ADMINISTRATOR, AGENT, Api, token_for

pytestmark = pytest.mark.django_db

ACTOR = Actor(None, "admin")
SECOND = timedelta(seconds=1)


class FetchingAgent:
    """An agent with a token of its own."""

    def __init__(self, name: str = "a1") -> None:
        self.token = token_for("agent")
        self.api = Api(self.token)
        self.name = name
        self.id = self._register()

    def _register(self) -> str:
        body = {**AGENT, "name": self.name, "topic_name": f"dcm.agent.{self.name}"}
        registered = self.api.post("agents", body)
        assert registered.status_code == 201, registered.content
        return str(registered.json()["agent_id"])

    def fetch(self, query: str = "") -> list[dict[str, Any]]:
        answer = self.api.get(f"agents/{self.id}/requests{query}")
        assert answer.status_code == 200, answer.content
        return list(answer.json()["items"])

    def answer(self, kind: str, resource_id: str, **data: Any) -> Any:
        return self.send(f"dcm.agent.{kind}", {"resource_id": resource_id, **data})

    def send(self, kind: str, data: dict[str, Any], event_id: str = "") -> Any:
        event = {"id": event_id or str(uuid4()), "source": f"dcm/agents/{self.name}", "type": kind}
        return self.api.post(f"agents/{self.id}/answers", {**event, "data": data})


@pytest.fixture
def agent(db: None) -> FetchingAgent:
    return FetchingAgent()


def request_resource(resource_id: str, **more: Any) -> None:
    create_resource(ResourceRequest(resource_id, "vm", {"cpu": 1}, **more), actor=ACTOR)


def kinds(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["event"]["type"].rpartition(".")[2], one["event"]["data"]["resource_id"]) for one in items]


def end_leases() -> None:
    OutboxMessage.objects.filter(leased_until__gt=Now()).update(leased_until=Now() - SECOND)


def test_a_resource_lives_by_https_alone(agent):
    assert agent.fetch() == []
    request_resource("web")
    (item,) = agent.fetch()
    event = item["event"]
    assert (event["id"], event["type"], event["data"]["spec"]) == ("web", "dcm.request.create", {"cpu": 1})
    assert event["specversion"] == "1.0"
    assert agent.fetch() == [], "It is leased."

    assert agent.answer("creation-acknowledged", "web").json() == {"applied": True}
    assert ResourceRow.objects.get().state == "provisioning"
    running = {"id": "web", "status": "RUNNING", "output_spec": {"ip": "10.0.0.1"}}
    assert agent.send("dcm.status.vm", running).status_code == 202
    row = ResourceRow.objects.get()
    assert (row.state, row.output) == ("running", {"ip": "10.0.0.1"})

    delete_resource("web", force=False, caller=ADMINISTRATOR, actor=ACTOR)
    assert kinds(agent.fetch()) == [("delete", "web")]
    agent.answer("deletion-acknowledged", "web", status="DELETING")
    agent.answer("deletion-acknowledged", "web", status="DELETED")
    assert ResourceRow.objects.get().state == "deleted"
    assert not OutboxMessage.objects.filter(settled_at=None).exists()
    assert agent.fetch() == []


def test_an_answer_has_its_effect_once(agent):
    request_resource("web")
    agent.fetch()
    data = {"resource_id": "web"}
    assert agent.send("dcm.agent.creation-acknowledged", data, "one").json() == {"applied": True}
    assert agent.send("dcm.agent.creation-acknowledged", data, "one").json() == {"applied": False}


def test_a_request_without_an_answer_is_handed_out_again_with_the_same_event_id(agent):
    request_resource("web")
    (first,) = agent.fetch()
    end_leases()
    (second,) = agent.fetch()
    assert first["event"]["id"] == second["event"]["id"]
    assert OutboxMessage.objects.get().attempts == 2
    # What a killed process had fetched does not wait for the end of the lease.
    assert agent.fetch() == []
    assert kinds(agent.fetch("?restarted=true")) == [("create", "web")]


def test_requests_come_oldest_first_one_for_each_resource_and_cancels_before_all(agent):
    agent.fetch()
    for name in ("r1", "r2", "r3"):
        request_resource(name)
    assert kinds(agent.fetch("?max=1")) == [("create", "r1")]
    cancel_resource("r1", caller=ADMINISTRATOR, actor=ACTOR)
    # The deletion waits for the answer; the cancellation overtakes what was stored before it.
    assert kinds(agent.fetch()) == [("cancel", "r1"), ("create", "r2"), ("create", "r3")]
    assert agent.fetch() == []
    agent.answer("cancel-rejected", "r1")
    assert kinds(agent.fetch()) == [("delete", "r1")]


def test_an_error_names_the_request_that_it_answers(agent):
    request_resource("web")
    agent.fetch()
    agent.answer("creation-acknowledged", "web")
    delete_resource("web", force=False, caller=ADMINISTRATOR, actor=ACTOR)
    (deletion,) = agent.fetch()
    # Without the name, nobody would know whether the creation or the deletion failed.
    agent.answer("error", "web", error="NON_RETRYABLE_SP_ERROR")
    end_leases()
    assert kinds(agent.fetch()) == [("delete", "web")]
    agent.answer("error", "web", error="NON_RETRYABLE_SP_ERROR", message_id=deletion["message_id"])
    end_leases()
    assert agent.fetch() == []
    assert ResourceRow.objects.get().state == "deleting"


def test_the_first_fetch_moves_what_was_sent_by_nats(agent):
    request_resource("old")
    OutboxMessage.objects.update(sent_at=Now())
    assert OutboxMessage.objects.get().channel == "nats"
    assert kinds(agent.fetch()) == [("create", "old")]
    assert AgentMessaging.objects.get().channel == "https"
    agent.answer("creation-acknowledged", "old")
    # What follows goes the same way, as do new requests.
    delete_resource("old", force=False, caller=ADMINISTRATOR, actor=ACTOR)
    request_resource("new")
    assert set(OutboxMessage.objects.filter(settled_at=None).values_list("channel", flat=True)) == {"https"}
    assert AssignmentRow.objects.filter(channel="nats").count() == 0
    assert kinds(agent.fetch()) == [("delete", "old"), ("create", "new")]


def test_with_another_topic_it_still_gets_its_requests(agent):
    agent.fetch()
    request_resource("web")
    Agent.objects.update(topic_name="dcm.agent.renamed")
    AgentMessaging.objects.update(fetched_at=None)
    assert kinds(agent.fetch()) == [("create", "web")]
    assert AssignmentRow.objects.get().topic == "dcm.agent.renamed"


def test_an_agent_with_the_topic_of_a_former_one_gets_nothing_of_it(agent):
    agent.fetch()
    request_resource("web")
    Agent.objects.filter(id=agent.id).update(topic_name="dcm.agent.gone")
    successor = FetchingAgent("a2")
    Agent.objects.filter(id=successor.id).update(topic_name="dcm.agent.a1")
    assert successor.fetch() == []


def test_fetching_notes_its_time_at_most_every_few_seconds(agent):
    agent.fetch()
    first = AgentMessaging.objects.get().fetched_at
    agent.fetch()
    assert AgentMessaging.objects.get().fetched_at == first
    AgentMessaging.objects.update(fetched_at=F("fetched_at") - SECOND * 6)
    agent.fetch()
    assert AgentMessaging.objects.get().fetched_at > first


def test_only_its_own_token_and_operators_get_the_requests(agent, api):
    agent.fetch()
    request_resource("web")
    stranger = FetchingAgent("a2")
    assert stranger.api.get(f"agents/{agent.id}/requests").status_code == 403
    assert stranger.api.get(f"agents/{uuid4()}/requests").status_code == 404
    assert Api(token_for("viewer")).get(f"agents/{agent.id}/requests").status_code == 403
    assert Api().get(f"agents/{agent.id}/requests").status_code == 401
    assert len(api.get(f"agents/{agent.id}/requests").json()["items"]) == 1
    # An answer in the name of another agent changes nothing.
    refused = stranger.answer("creation-acknowledged", "web", agent_name="a1")
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_resource")
    assert stranger.api.post(f"agents/{agent.id}/answers", {}).status_code == 403
    assert ResourceRow.objects.get().state == "pending"


@pytest.mark.parametrize(
    ("event", "pointer"),
    [
        ({"source": "s", "type": "dcm.agent.error", "data": {}}, "/id"),
        ({"id": "1", "source": "s", "type": "dcm.agent.error", "data": []}, "/data"),
        ({"id": "1", "source": "s", "type": "dcm.request.create", "data": {}}, "/type"),
        ({"id": "x" * 256, "source": "s", "type": "dcm.agent.error", "data": {}}, "/id"),
    ],
)
def test_a_malformed_answer_is_refused_and_not_remembered(agent, event, pointer):
    refused = agent.api.post(f"agents/{agent.id}/answers", event)
    assert refused.status_code == 400
    assert [one["pointer"] for one in refused.json()["errors"]] == [pointer]


@pytest.mark.parametrize("resource_id", ["nothing", "", 7, None, ["web"]])
def test_an_answer_about_nothing_is_a_404_and_can_be_sent_again(agent, resource_id):
    for _ in range(2):
        refused = agent.send("dcm.agent.error", {"resource_id": resource_id}, "same")
        assert (refused.status_code, refused.json()["code"]) == (404, "unknown_resource"), refused.content


def test_a_dry_run_of_an_answer_changes_nothing(agent):
    request_resource("web")
    agent.fetch()
    event = {"id": "1", "source": "s", "type": "dcm.agent.creation-acknowledged"}
    body = {**event, "data": {"resource_id": "web"}}
    assert agent.api.post(f"agents/{agent.id}/answers?dry_run=true", body).json() == {"applied": True}
    assert ResourceRow.objects.get().state == "pending"


def wait_for_requests(live: Any, agent: FetchingAgent, seconds: int) -> tuple[list[Any], float]:
    url = f"{live.url}/api/v1/agents/{agent.id}/requests?wait={seconds}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {agent.token}"})
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert "X-Controlplane-Watch" not in answer.headers
        return json.loads(answer.read())["items"], time.monotonic() - began


def later(action: Any) -> threading.Timer:
    def run() -> None:
        from django.db import connection

        action()
        connection.close()

    timer = threading.Timer(0.5, run)
    timer.start()
    return timer


def test_a_long_poll_ends_with_a_request_with_an_answer_that_frees_one_or_with_its_time(live):
    agent = FetchingAgent()
    items, seconds = wait_for_requests(live, agent, 1)
    assert (items, seconds > 0.8) == ([], True)

    timer = later(lambda: request_resource("web"))
    items, seconds = wait_for_requests(live, agent, 20)
    timer.join()
    assert (kinds(items), seconds < 15) == ([("create", "web")], True)

    cancel_resource("web", caller=ADMINISTRATOR, actor=ACTOR)
    assert kinds(wait_for_requests(live, agent, 20)[0]) == [("cancel", "web")]
    timer = later(lambda: agent.answer("cancel-rejected", "web"))
    items, seconds = wait_for_requests(live, agent, 20)
    timer.join()
    assert (kinds(items), seconds < 15) == ([("delete", "web")], True)
    assert Event.objects.filter(type="agent.requests_waiting", object_id=agent.id).count() == 3
