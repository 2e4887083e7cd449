"""What the registry and the bundles know of a task type, in one answer."""

from __future__ import annotations

import pytest

from tests.api.registry.agent_configs.test_agent_configs import client, plane, published, text  # noqa: F401

pytestmark = pytest.mark.usefixtures("plane")


def test_a_task_type_tells_its_owner_endpoint_and_losers_in_each_data_plane(api):
    api.put("data-planes/us", {"teams": ["sensors"]})
    published(api)
    published(api, "sensors", content=text("sensors", "acme_sensor"))

    body = api.get("task-types/acme_sensor").json()

    eu, us = body["published"]
    assert (eu["data_plane"], eu["team"], eu["document"]) == ("eu", "acme", "api/acme/agents")
    assert (eu["agent"], eu["endpoint"]) == ("acme-sensor", "acme-sensor.svc.cluster.local:8000")
    assert (eu["insecure"], eu["mapped"], eu["generation"], eu["revision"]) == (True, True, 1, 2)
    (loser,) = eu["losers"]
    assert (loser["document"], loser["because"]) == ("api/sensors/agents", "established")
    assert (us["data_plane"], us["team"], us["losers"]) == ("us", "sensors", [])
    assert {condition["type"] for condition in eu["conditions"]} >= {"Reachable", "Programmed"}
    agent_config_claims = api.get("agent-config-claims?name=acme_sensor&data_plane=eu&team=acme").json()[
        "items"
    ]
    assert eu["since"] == agent_config_claims[0]["first_accepted_at"]
    (listed,) = api.get("task-types").json()["items"]
    assert (listed["teams"], listed["data_planes"], listed["agents"]) == (["acme", "sensors"], 2, 0)


def test_a_task_type_costs_the_same_however_many_data_planes_have_it(api, django_assert_max_num_queries):
    for number in range(5):
        api.put(f"data-planes/p{number}", {})
    published(api)

    with django_assert_max_num_queries(9):
        assert len(api.get("task-types/acme_sensor").json()["published"]) == 6


def test_nobody_learns_of_another_organisations_task_types_but_to_whom_it_lost(api):
    ours, us = client("editor")
    theirs, them = client("editor")
    api.put("agent-config-teams/acme", {"publishers": [ours], "organisation": "acme-inc"})
    api.put("agent-config-teams/rival", {"publishers": [theirs], "organisation": "rival-inc"})
    published(us)

    assert them.get("task-types/acme_sensor").status_code == 404
    assert "acme" not in them.get("task-types/acme_senso").json()["detail"].replace("acme_senso", "")
    assert them.get("task-types").json()["items"] == []

    published(them, "rival", content=text("rival", "acme_sensor"))
    (published_there,) = them.get("task-types/acme_sensor").json()["published"]
    assert (
        published_there["team"],
        published_there["agent"],
        published_there["endpoint"],
        published_there["conditions"],
    ) == ("", "", "", [])
    assert [loser["team"] for loser in published_there["losers"]] == ["rival"]
    (published_here,) = us.get("task-types/acme_sensor").json()["published"]
    assert (published_here["team"], published_here["losers"]) == ("acme", [])


def test_a_near_miss_is_told(api):
    published(api)

    missing = api.get("task-types/AcmeSensor").json()

    assert (missing["code"], "Did you mean 'acme_sensor'?" in missing["detail"]) == (
        "unknown_task_type",
        True,
    )
    assert "Did you mean" not in api.get("task-types/zzz").json()["detail"]


def test_what_is_published_no_more_is_neither_listed_nor_meant(api):
    published(api)

    assert api.delete("agent-configs/acme/agents", If_Match='"v1"').status_code == 204

    assert api.get("agent-config-claims?name=acme_sensor").json()["items"][0]["gone_at"]
    assert api.get("task-types").json()["items"] == []
    assert "Did you mean" not in api.get("task-types/acme_sensor").json()["detail"]
