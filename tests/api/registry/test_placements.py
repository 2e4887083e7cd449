"""The explanation of placement over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.scopes import Scope
from registry.agents.models import Agent
from registry.dispatch.models import ResourceRow
from registry.dispatch.placement.scores import WEIGHTS
from tests.support.api_client import AGENT, Api, make_project, token_for


@pytest.fixture(autouse=True)
def agents(api: Api) -> None:
    for name, cost in (("a1", "low"), ("a2", "high"), ("a3", "low")):
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", "cost": cost}
        assert api.post("agents", body).status_code == 201
    Agent.objects.filter(name="a3").update(state="draining", drain_reason="Upgrade.")


def explained(api: Api, body: Any) -> Any:
    answer = api.post("placements:explain", body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_every_agent_gets_a_verdict(api):
    answer = explained(api, {"service_type": "vm"})

    assert answer["chosen"] == "a1"
    assert answer["reason"].startswith("It has the lowest score")
    assert [(one["agent"], one["eligible"]) for one in answer["verdicts"]] == [
        ("a1", True),
        ("a2", True),
        ("a3", False),
    ]
    assert set(answer["verdicts"][0]["score"]) == set(WEIGHTS)
    assert answer["verdicts"][2]["reasons"] == [
        "It is draining: it finishes its work and gets no more. Reason: Upgrade."
    ]


def test_a_request_is_explained_as_it_would_be_placed(api):
    body = {"service_type": "vm", "placement": {"agent": "a2"}}

    assert explained(api, body)["chosen"] == "a2"
    assert explained(api, {**body, "placement": {"selector": "tier=gold"}})["chosen"] is None
    assert explained(api, {"service_type": "db"})["reason"] == "No agent offers the service type db."


def test_a_resource_is_explained_and_not_changed(api):
    made = api.post("resources?id=web", {"service_type": "vm", "spec": {}}).json()
    before = ResourceRow.objects.values().get()

    assert made["agent"] == "a1"
    assert explained(api, {"resource_id": "web"})["chosen"] == "a1"
    assert ResourceRow.objects.values().get() == before


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({}, 400, "/service_type"),
        ({"resource_id": "web", "service_type": "vm"}, 400, "/service_type"),
        ({"service_type": "vm", "placement": {"selector": "a b c"}}, 400, "/placement/selector"),
        ({"service_type": "vm", "placement": {"agnt": "a"}}, 400, "/placement/agnt"),
        ({"service_type": "vm", "spec": {}}, 400, "/spec"),
    ],
)
def test_what_is_wrong_is_named(api, body, status, pointer):
    answer = api.post("placements:explain", body)

    assert answer.status_code == status, answer.content
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_it_needs_the_right_to_read_resources_at_the_scope(api):
    make_project("flytesnacks")
    api.post("resources?id=web", {"service_type": "vm", "spec": {}})
    reader = Api(token_for("viewer", scope=Scope(project="flytesnacks")))

    answer = explained(reader, {"service_type": "vm", "project": "flytesnacks"})
    assert (answer["chosen"], answer["verdicts"]) == (None, [])
    assert reader.post("placements:explain", {"service_type": "vm"}).status_code == 403
    assert reader.post("placements:explain", {"resource_id": "web"}).json()["code"] == "unknown_resource"
    assert api.post("placements:explain", {"service_type": "vm", "team": "zz"}).status_code == 404
