"""Drain, resume, deregister, retire, remove; labels, lists and counts; DCM's alias."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from controlplane.database.label_conditions import label_condition
from controlplane.formats.label_selectors import parse
from controlplane.identity.callers import ANONYMOUS_READER
from registry import lifecycle
from registry.agents.models import Agent, AgentTally, Lease
from registry.agents.states import State
from registry.listing import counts
from registry.sweep.sweep import sweep_leases
from tests.support.api_client import AGENT, Api, token_for

BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
DCM = "/api/v1alpha1/agents"


def register(api: Api, name: str = "a1", **more: Any) -> str:
    answer = api.post("agents", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", **more})
    assert answer.status_code in (200, 201), answer.content
    return answer.json()["agent_id"]


def state(api: Api, agent_id: str) -> str:
    return api.get(f"agents/{agent_id}").json()["health_status"]


def beat(api: Api, agent_id: str, lag: int = 0) -> Any:
    return api.put(f"agents/{agent_id}/heartbeat", {**BEAT, "consumer_lag": lag})


def history(api: Api, agent_id: str) -> list[tuple[str, str]]:
    items = api.get(f"events?after=0&object_type=agent&object_id={agent_id}").json()["items"]
    return [(item["type"], item["data"].get("reason", "")) for item in items]


def test_a_drain_outlives_heartbeats_silence_and_restarts_and_ends_when_told(api):
    agent_id = register(api)

    drained = api.post(f"agents/{agent_id}:drain", {"reason": "Kernel update."})
    assert (drained.json()["health_status"], drained.json()["drain_reason"]) == ("draining", "Kernel update.")
    assert beat(api, agent_id, lag=10_000).json()["directives"] == ["drain"]
    assert state(api, agent_id) == "draining"
    register(api)
    assert state(api, agent_id) == "draining"

    assert api.post(f"agents/{agent_id}:resume?change_message=Done").json()["health_status"] == "ready"
    assert api.post(f"agents/{agent_id}:resume").json()["state_reason"] == "Done"
    assert ("agent.draining", "Kernel update.") in history(api, agent_id)


def test_a_silent_agent_that_drains_is_unavailable_and_comes_back_draining(api, settings):
    agent_id = register(api)
    api.post(f"agents/{agent_id}:drain", {"reason": "x"})
    with connection.cursor() as cursor:
        cursor.execute("UPDATE registry_lease SET expires_at = now() - interval '1 s'")
        cursor.execute(
            "UPDATE registry_sweeprecord SET last_sweep_at = now(), reachable_since = now() - interval '9 h'"
        )
    settings.FLEET_GUARD_PERCENT = 101

    assert sweep_leases() == 1
    assert state(api, agent_id) == "unavailable"
    beat(api, agent_id)
    assert state(api, agent_id) == "draining"


def test_a_drain_cannot_end_before_it_begins(api):
    agent_id = register(api)

    refused = api.post(f"agents/{agent_id}:drain", {"reason": "x", "until": "2020-01-01T00:00:00Z"})

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/until")
    assert state(api, agent_id) == "ready"


@pytest.mark.parametrize("labels", [{"a": "b\n"}, {"a\n": "b"}])
def test_no_label_ends_with_a_new_line(api, labels):
    refused = api.post("agents", {**AGENT, "labels": labels})

    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")


def test_the_time_of_a_drain_ends_it(api):
    agent_id = register(api)
    api.post(f"agents/{agent_id}:drain", {"reason": "x", "until": "2999-01-01T00:00:00Z"})
    assert lifecycle.end_drains() == 0
    Agent.objects.update(drain_until="2020-01-01T00:00:00Z")

    assert lifecycle.end_drains() == 1
    body = api.get(f"agents/{agent_id}").json()
    assert (body["health_status"], body["drain_reason"], body["drain_until"]) == ("ready", "", None)


def test_an_agent_drains_and_leaves_for_itself_and_for_nobody_else(api):
    own_api, other = Api(token_for("agent")), Api(token_for("agent"))
    agent_id = register(own_api)

    for action, body in (("drain", {"reason": "x"}), ("resume", None), ("deregister", None)):
        assert other.post(f"agents/{agent_id}:{action}", body).status_code == 403
        assert own_api.post(f"agents/{agent_id}:{action}", body).status_code == 200
    for action in ("approve", "retire"):
        assert own_api.post(f"agents/{agent_id}:{action}").status_code == 403
    unknown = "019a9f5e-7c00-7000-8000-000000000031"
    assert api.post(f"agents/{unknown}:drain", {"reason": "x"}).status_code == 404


def test_who_said_goodbye_is_told_to_register_again_and_may(api):
    agent_id = register(api)
    api.post(f"agents/{agent_id}:deregister")

    gone = beat(api, agent_id)
    assert (gone.status_code, gone.json()["code"]) == (410, "agent_retired")
    assert state(api, agent_id) == "retired"
    assert api.post(f"agents/{agent_id}:drain", {"reason": "x"}).status_code == 409
    assert register(api) == agent_id
    assert state(api, agent_id) == "ready"
    assert beat(api, agent_id).status_code == 200


def test_only_who_has_left_is_removed_unless_forced(api):
    agent_id, other = register(api), register(api, "a2")

    refused = api.delete(f"agents/{agent_id}")
    assert (refused.status_code, refused.json()["code"]) == (409, "still_in_use")
    api.post(f"agents/{agent_id}:retire")
    assert api.delete(f"agents/{agent_id}").status_code == 204
    assert api.delete(f"agents/{other}?force=true&change_message=Stolen").status_code == 204
    assert api.delete(f"agents/{other}").status_code == 404
    assert not Lease.objects.exists()
    assert beat(api, other).status_code == 404
    assert history(api, other)[-1][0] == "agent.removed"


# Lists.


def test_lists_are_filtered_selected_sorted_and_cut(api):
    register(api, "eu-1", environment="prod", labels={"team": "ml", "region": "eu"}, service_types=["vm"])
    register(api, "us-1", environment="prod", labels={"team": "ml", "region": "us"}, service_types=["gpu"])
    register(api, "dev-1", environment="dev", labels={})
    drained = register(api, "dev-2", environment="dev", labels={"team": "core"})
    api.post(f"agents/{drained}:drain", {"reason": "x"})

    def names(query: str) -> list[str]:
        return [agent["name"] for agent in api.get(f"agents?{query}").json()["items"]]

    assert names("selector=team%3Dml,region+in+(eu,asia)") == ["eu-1"]
    assert names("selector=!team") == ["dev-1"]
    assert names("selector=team!%3Dml") == ["dev-1", "dev-2"]
    assert names("health_status=draining,unavailable") == ["dev-2"]
    assert names("q=V-") == ["dev-1", "dev-2"]
    assert names("sort=-name&environment=prod") == ["us-1", "eu-1"]
    assert names("sort=-create_time") == ["dev-2", "dev-1", "us-1", "eu-1"]
    assert names("sort=environment&service_type=gpu") == ["us-1"]
    assert names("late=true") == []
    assert api.get("agents?only=name,labels&q=eu").json()["items"] == [
        {"name": "eu-1", "labels": {"team": "ml", "region": "eu"}}
    ]


@pytest.mark.parametrize(
    "order", ["name", "-name", "environment", "-environment", "state_since", "-create_time"]
)
def test_pages_of_every_order_have_every_agent_once(api, order):
    for number in range(7):
        register(api, f"a{number}", environment=("x", "y")[number % 2])
    names: list[str] = []
    cursor = ""
    while True:
        page = api.get(f"agents?limit=2&sort={order}{cursor}").json()
        names += [item["name"] for item in page["items"]]
        if not page["next_cursor"]:
            break
        cursor = f"&cursor={page['next_cursor']}"

    assert sorted(names) == [f"a{number}" for number in range(7)]


@pytest.mark.parametrize(
    "query", ["selector=a%3Db%3Dc", "health_status=gone", "only=nope", "sort=cost", "late=maybe", "nope=1"]
)
def test_a_bad_list_parameter_is_told(api, query):
    register(api, "a1")
    refused = api.get(f"agents?{query}")

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, f"?{query.split('=')[0]}")


def test_an_unknown_state_is_refused_with_those_there_are(api):
    (error,) = api.get("agents?health_status=ready,unavailabel").json()["errors"]

    assert (error["code"], error["hint"]) == ("unknown_word", "Did you mean 'unavailable'?")
    assert "draining" in error["allowed"]
    assert api.get("resources?state=nope").json()["errors"][0]["allowed"][0] == "pending"


def test_selectors_mean_the_same_in_sql(api):
    labels = [{}, {"a": "1"}, {"a": "2", "b": ""}, {"b": "x"}]
    for number, label_set in enumerate(labels):
        register(api, f"a{number}", labels=label_set)

    for text in ("a", "!a", "a=1", "a!=1", "a in (1,2)", "a notin (1)", "b=", "b!=", "a=1,b", "a,!b"):
        wanted = [f"a{n}" for n, one in enumerate(labels) if all(r.is_met_by(one) for r in parse(text))]
        rows = Agent.objects.filter(*(label_condition(one) for one in parse(text))).order_by("name")
        assert [row.name for row in rows] == wanted, text


@pytest.mark.parametrize(
    ("labels", "pointer"),
    [({"-": "x"}, "/labels/-"), ({"a": "_"}, "/labels/a"), ({f"k{n}": "" for n in range(65)}, "/labels")],
)
def test_bad_labels_are_refused(api, labels, pointer):
    refused = api.post("agents", {**AGENT, "labels": labels})

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, pointer)


def test_counts_follow_every_change(api):
    def counted() -> dict[str, dict[State, int]]:
        actual: dict[str, dict[State, int]] = {}
        for environment, word in Agent.objects.values_list("environment", "state"):
            of = actual.setdefault(environment, {})
            of[State(word)] = of.get(State(word), 0) + 1
        return actual

    first, second = register(api, "a1"), register(api, "a2")
    register(api, "b1", environment="dev")
    assert (
        counts.agent_counts(ANONYMOUS_READER)
        == counted()
        == {"prod": {State.READY: 2}, "dev": {State.READY: 1}}
    )
    api.post(f"agents/{first}:drain", {"reason": "x"})
    register(api, "a2", environment="dev")
    api.post(f"agents/{second}:retire")
    assert counts.agent_counts(ANONYMOUS_READER) == counted()
    counts.compact()
    counts.compact()
    assert counts.agent_counts(ANONYMOUS_READER) == counted()
    assert AgentTally.objects.count() == 3
    api.delete(f"agents/{second}")
    assert counts.agent_counts(ANONYMOUS_READER) == counted()

    summary = api.get("agents:summary").json()
    assert (summary["total"], summary["states"]) == (2, {"ready": 1, "draining": 1})
    assert [environment["environment"] for environment in summary["environments"]] == ["dev", "prod"]


# DCM.


@pytest.fixture
def dcm(db, settings, client):
    settings.DCM_AGENTS = True
    return client


def test_a_dcm_agent_works_without_a_token_and_its_words(dcm, api):
    body = {**AGENT, "resources_available": None, "something": "else"}

    created = dcm.post(DCM, body, content_type="application/json")
    again = dcm.post(DCM, body, content_type="application/json")
    created_body = created.json()
    assert (created.status_code, again.status_code) == (201, 200)
    assert again.json()["agent_id"] == created_body["agent_id"]
    assert set(created_body) - {"state"} == {
        *("agent_id", "name", "environment", "service_types", "cost", "topic_name", "health_status"),
        *("last_heartbeat", "create_time", "update_time"),
    }

    path = f"{DCM}/{created_body['agent_id']}"
    beaten = dcm.put(f"{path}/heartbeat", {**BEAT, "extra": 1}, content_type="application/json")
    assert (beaten.status_code, beaten.json()["health_status"]) == (200, "ready")
    api.post(f"agents/{created_body['agent_id']}:drain", {"reason": "x"})
    assert dcm.get(path).json()["health_status"] == "congested"
    listed = api.get(f"{DCM}?health_status=congested").json()
    assert listed["agents"][0]["state"] == "draining"


def test_dcm_pages(dcm, api):
    for number in range(3):
        body = {**AGENT, "name": f"a{number}", "topic_name": f"dcm.agent.a{number}"}
        dcm.post(DCM, body, content_type="application/json")

    first = api.get(f"{DCM}?max_page_size=2").json()
    rest = api.get(f"{DCM}?max_page_size=2&page_token={first['next_page_token']}").json()
    assert [agent["name"] for agent in first["agents"] + rest["agents"]] == ["a0", "a1", "a2"]
    assert rest["next_page_token"] == ""
    for query in ("max_page_size=101", "max_page_size=x", "page_token=x"):
        assert api.get(f"{DCM}?{query}").status_code == 400


def test_dcm_errors_are_dcms(dcm, api):
    register(api)  # with a token: nobody without one may take it over

    conflict = dcm.post(DCM, AGENT, content_type="application/json")
    bad = dcm.post(DCM, {**AGENT, "name": "x", "cost": "free"}, content_type="application/json")
    missing = dcm.put(
        f"{DCM}/019a9f5e-7c00-7000-8000-000000000031/heartbeat", BEAT, content_type="application/json"
    )

    assert [response.status_code for response in (conflict, bad, missing)] == [409, 400, 404]
    assert [response.json()["type"] for response in (conflict, bad, missing)] == [
        "conflict",
        "validation-error",
        "not-found",
    ]
    assert set(conflict.json()) == {"type", "title", "status", "detail", "instance"}
    agent = Agent.objects.get()
    foreign = dcm.put(f"{DCM}/{agent.id}/heartbeat", BEAT, content_type="application/json")
    assert foreign.status_code == 403


@pytest.mark.parametrize("turned_on", [True, False])
def test_without_a_token_lists_are_never_shown_and_the_rest_only_where_it_is_turned_on(
    client, api, settings, turned_on
):
    settings.DCM_AGENTS = True
    body = {**AGENT, "name": "tokenless", "topic_name": "dcm.agent.tokenless"}
    own = client.post(DCM, body, content_type="application/json").json()["agent_id"]
    foreign = register(api)
    settings.DCM_AGENTS = turned_on

    listed = client.get(DCM)
    calls = [
        client.post(DCM, body, content_type="application/json"),
        client.put(f"{DCM}/{own}/heartbeat", BEAT, content_type="application/json"),
        client.get(f"{DCM}/{own}"),
    ]

    assert [call.status_code for call in calls] == [200 if turned_on else 401] * 3
    assert (listed.status_code, listed.json()["type"]) == (401, "unauthorized")
    assert listed["WWW-Authenticate"].startswith("Bearer resource_metadata=")
    assert client.get(f"{DCM}/{foreign}").status_code == (404 if turned_on else 401)


def test_a_dcm_agent_with_a_token_is_served_always_and_owns_its_record(api):
    agent, other = Api(token_for("agent")), Api(token_for("agent"))

    created = agent.post(DCM, AGENT)
    path = f"{DCM}/{created.json()['agent_id']}"

    assert (created.status_code, agent.post(DCM, AGENT).status_code) == (201, 200)
    assert agent.put(f"{path}/heartbeat", BEAT).json()["health_status"] == "ready"
    assert [agent["name"] for agent in agent.get(DCM).json()["agents"]] == ["a1"]
    assert other.post(DCM, AGENT).status_code == 409
    assert other.put(f"{path}/heartbeat", BEAT).status_code == 403
    assert other.get(path).status_code == 200


@pytest.mark.parametrize("secret", ["cp_pat_nothing", "", "cp_joi_x"])
def test_a_token_that_is_not_ours_is_refused_even_where_none_is_needed(dcm, secret):
    answer = Api(secret or " ").post(DCM, AGENT)

    assert (answer.status_code, answer.json()["type"]) == (401, "unauthorized")
    assert not Agent.objects.exists()


def test_a_token_without_the_role_registers_nobody(db):
    viewer = Api(token_for("viewer"))

    assert viewer.post(DCM, AGENT).status_code == 403
    assert viewer.get(DCM).status_code == 200


def test_a_dcm_agent_that_is_given_a_token_keeps_its_record(dcm):
    first = dcm.post(DCM, AGENT, content_type="application/json").json()["agent_id"]
    agent = Api(token_for("agent"))

    assert agent.post(DCM, AGENT).json()["agent_id"] == first
    assert agent.put(f"{DCM}/{first}/heartbeat", BEAT).status_code == 200
    # From now on nobody has it without the token.
    assert dcm.post(DCM, AGENT, content_type="application/json").status_code == 409


@pytest.mark.parametrize("with_token", [True, False])
def test_a_restart_of_a_dcm_agent_does_not_undo_its_retirement(dcm, api, with_token):
    token = token_for("agent") if with_token else ""

    def start():
        return Api(token).post(DCM, AGENT)

    agent_id = start().json()["agent_id"]
    api.post(f"agents/{agent_id}:retire")

    refused = start()
    assert (refused.status_code, refused.json()["type"]) == (409, "conflict")
    assert state(api, agent_id) == "retired"
    assert Api(token).put(f"{DCM}/{agent_id}/heartbeat", BEAT).status_code == 410
    # What silence did, and a goodbye, are undone as before.
    api.post(f"agents/{agent_id}:deregister")
    assert start().status_code == 200
    Agent.objects.update(state="retired", retired_for_silence=True)
    assert start().status_code == 200
    api.post(f"agents/{agent_id}:retire")
    api.delete(f"agents/{agent_id}")
    assert start().status_code == 201


@pytest.mark.parametrize(("length", "status"), [(239, 201), (240, 400)])
def test_a_topic_name_is_as_long_as_every_valid_agent_needs(dcm, length, status):
    topic = "dcm.agent." + "x" * length

    assert (
        dcm.post(DCM, {**AGENT, "topic_name": topic}, content_type="application/json").status_code == status
    )
    native = Api(token_for("agent")).post("agents", {**AGENT, "name": "n", "topic_name": topic[:-1] + "y"})
    assert native.status_code == status
