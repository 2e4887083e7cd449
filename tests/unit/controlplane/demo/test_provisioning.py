"""What the demo's agents answer to requests of resources."""

from __future__ import annotations

import pytest

from controlplane.demo.provisioning import FAILS, NEVER_READY, answers


def kinds(verb: str, resource_id: str = "web", **data: object) -> list[str]:
    request = {"type": f"dcm.request.{verb}", "data": {"resource_id": resource_id, "epoch": 2, **data}}
    return [answer["type"] for answer in answers("prod-eu-3", request)]


@pytest.mark.parametrize(
    ("resource_id", "expected"),
    [
        ("web", ["dcm.agent.creation-acknowledged", "dcm.status.vm"]),
        (FAILS, ["dcm.agent.error"]),
        (NEVER_READY, ["dcm.agent.creation-acknowledged"]),
    ],
)
def test_a_creation_succeeds_fails_or_takes_ages(resource_id, expected):
    assert kinds("create", resource_id, service_type="vm") == expected


def test_a_deletion_and_a_cancellation_leave_nothing():
    assert kinds("delete", service_type="vm") == ["dcm.agent.deletion-acknowledged", "dcm.status.vm"]
    assert kinds("cancel") == ["dcm.agent.cancel-acknowledged", "dcm.agent.deletion-acknowledged"]


def test_each_answer_names_the_attempt_and_has_an_id_of_its_own():
    request = {"type": "dcm.request.create", "data": {"resource_id": "web", "epoch": 2, "service_type": "vm"}}
    given = list(answers("prod-eu-3", request))

    assert {answer["data"]["epoch"] for answer in given} == {2}
    assert len({answer["id"] for answer in given}) == len(given)
