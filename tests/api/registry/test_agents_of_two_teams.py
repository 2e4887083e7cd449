"""Callers limited to a team: another team's agents, and the platform's, do not exist for them."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

import pytest

from controlplane.events import log
from controlplane.identity.roles import Role
from registry.agents.models import Agent
from registry.environments.models import Environment
from tests.support.api_client import AGENT, Api, token_for
from tests.support.two_teams import BEAT, OTHER, OURS, PLATFORM, TwoTeams, done, make_two_teams, member_of

ROLES = (Role.VIEWER, Role.OPERATOR, Role.EDITOR, Role.ADMIN)
LISTS = (
    *("agents", "agents?q=zq", "agents?selector=!absent", "agents?health_status=ready"),
    *("agents?service_type=vm", f"agents?team={OTHER}", "agents?environment=shared", "agents:summary"),
    *("fleet-guards", "task-types", "task-types/common", "events?limit=200", "/api/v1alpha1/agents"),
)
PROVIDER = {"name": "p", "endpoint": "http://x:1", "service_type": "vm", "schema_version": "v1"}
READS = ("", "/providers", "/providers/p1", "/providers/p1/history")
WRITES: tuple[tuple[str, str, Any], ...] = (
    ("DELETE", "", None),
    ("PUT", "/heartbeat", BEAT),
    ("POST", ":approve", {}),
    ("POST", ":drain", {"reason": "x"}),
    ("POST", ":resume", {}),
    ("POST", ":deregister", {}),
    ("POST", ":retire", {}),
    ("POST", ":rotate", {}),
    ("POST", ":set-lease", {"lease_seconds": 1800}),
    ("POST", ":transfer", {"team": OURS}),
    ("POST", "/providers", PROVIDER),
    ("DELETE", "/providers/p1", None),
)
_OWN = re.compile(r'"(request_id|instance)": ?"[^"]*"')


@pytest.fixture
def world(api: Api) -> TwoTeams:
    return make_two_teams(api)


def callers(world: TwoTeams) -> dict[str, Api]:
    by_role = {role.value: member_of(world.ours, role) for role in ROLES}
    return {**by_role, "agent": world.our_agent.api}


def shape(answer: Any, agent_id: str) -> tuple[int, str]:
    text = _OWN.sub("", answer.content.decode()).replace(agent_id, "ID")
    return answer.status_code, text


def test_no_list_count_or_event_shows_another_owner(world):
    for name, caller in callers(world).items():
        for path in LISTS:
            if name == "agent" and path.startswith("events"):
                continue  # agents read no events
            answer = caller.get(path)
            text = answer.content.decode()
            assert answer.status_code == 200, (name, path, text)
            assert OTHER not in re.sub(r"team=" + OTHER, "", text), (name, path, text)
            assert PLATFORM not in text, (name, path, text)


def test_lists_and_counts_are_of_ones_own_agents(world):
    viewer = member_of(world.ours, Role.VIEWER)

    assert [agent["name"] for agent in viewer.get("agents").json()["items"]] == [world.our_agent.name]
    assert viewer.get("agents").json()["items"][0]["team"] == OURS
    assert viewer.get(f"agents?team={OTHER}").json()["items"] == []
    summary = viewer.get("agents:summary").json()
    assert (summary["total"], [row["environment"] for row in summary["environments"]]) == (1, ["shared"])
    tasks = {row["name"]: row for row in viewer.get("task-types").json()["items"]}
    assert tasks.keys() == {f"{OURS}-1_task", "common"}
    assert (tasks["common"]["agents"], tasks["common"]["versions"]) == (1, [f"{OURS}-1-v"])
    assert len(viewer.get("task-types/common").json()["items"]) == 1


def test_without_limits_all_agents_are_shown_with_their_owners(api, world):
    shown = {agent["name"]: agent["team"] for agent in api.get("agents").json()["items"]}

    expected = {f"{OURS}-1": OURS, f"{OTHER}-1": OTHER, f"{OTHER}-2": OTHER, f"{PLATFORM}-1": None}
    assert shown == expected
    assert api.get("agents:summary").json()["total"] == 4
    assert len(api.get(f"agents?team={OTHER}").json()["items"]) == 2
    owned = {event["object_id"] for event in api.get("events?limit=200").json()["items"]}
    assert {world.our_agent.id, world.other_agent.id, world.platform_agent.id} <= owned


@pytest.mark.parametrize("role", [*ROLES, "agent"])
def test_another_owners_agent_is_as_one_that_does_not_exist(world, role):
    caller = callers(world)[role]
    absent = str(uuid.uuid4())
    requests = [("GET", path, None) for path in READS] + list(WRITES)

    for method, path, body in requests:
        answers = {
            agent_id: shape(caller(method, f"agents/{agent_id}{path}", body), agent_id)
            for agent_id in (absent, world.other_agent.id, world.platform_agent.id)
        }
        assert len(set(answers.values())) == 1, (method, path, answers)
        assert answers[absent][0] in (403, 404), (method, path, answers)
        if method == "GET":
            assert answers[absent][0] == 404
    assert Agent.objects.get(id=world.other_agent.id).state == "ready"


def test_a_task_type_of_others_does_not_exist(world):
    viewer = member_of(world.ours, Role.VIEWER)

    assert viewer.get(f"task-types/{OURS}-1_task").status_code == 200
    for name in (f"{OTHER}-1_task", f"{PLATFORM}-1_task", "absent"):
        answer = viewer.get(f"task-types/{name}")
        assert answer.status_code == 404
        assert "Did you mean" not in answer.json()["detail"] or OURS in answer.json()["detail"]


def test_ones_own_agents_are_changed_by_those_who_may(world):
    path = f"agents/{world.our_agent.id}"
    viewer, operator = member_of(world.ours, Role.VIEWER), member_of(world.ours, Role.OPERATOR)

    assert viewer.post(f"{path}:set-lease", {"lease_seconds": 1800}).status_code == 403
    assert operator.post(f"{path}:set-lease", {"lease_seconds": 1800}).status_code == 200
    assert viewer.post(f"{path}:drain", {"reason": "x"}).status_code == 403
    assert operator.post(f"{path}:drain", {"reason": "x"}).json()["health_status"] == "draining"
    assert operator.post(f"{path}:resume", {}).json()["health_status"] == "ready"
    assert operator.put(f"{path}/heartbeat", BEAT).status_code == 200


def test_heartbeats_in_bulk_reach_ones_own_agents_alone(world):
    ids = (world.our_agent.id, world.other_agent.id, world.platform_agent.id, str(uuid.uuid4()))
    items = [{"agent_id": agent_id, **BEAT} for agent_id in ids]

    answer = member_of(world.ours, Role.EDITOR).post("agents:heartbeat", {"items": items})

    results = answer.json()["items"]
    assert [result["status"] for result in results] == [200, 404, 404, 404]
    assert {result["detail"] for result in results[1:]} == {results[3]["detail"]}


def test_guards_show_only_ones_own_environments_and_counts(world):
    Environment.objects.filter(name__in=["shared", "", f"{OTHER}-env"]).update(
        guard_engaged_at="2026-11-21T09:30:00Z",
        guard_reason="48 of 60 agents are silent.",
        guard_due_count=48,
        guard_agent_count=60,
        guard_mode_set_by="zqother-person",
    )
    operator = member_of(world.ours, Role.OPERATOR)

    [guard] = operator.get("fleet-guards").json()["items"]

    assert (guard["environment"], guard["silent"], guard["agents"]) == ("shared", 0, 1)
    assert (guard["engaged"], guard["ruling_by"]) == (True, "")
    assert "48" not in guard["reason"]
    for environment in ("shared", f"{OTHER}-env", "absent"):
        lift = {"environment": environment, "ruling": "lift"}
        assert operator.post("fleet-guards:overrule", lift).status_code == 403
        lease = {"environment": environment, "lease_seconds": 1800}
        assert operator.post("agents:set-environment-lease", lease).status_code == 403


def test_events_of_a_state_change_reach_the_team_and_no_other(api, world):
    viewer = member_of(world.ours, Role.VIEWER)
    after = log.last_number()
    for agent in (world.our_agent, world.other_agent, world.platform_agent):
        done(api.post(f"agents/{agent.id}:drain", {"reason": "x"}))

    seen = viewer.get(f"events?after={after}").json()["items"]

    assert {event["object_id"] for event in seen} == {world.our_agent.id}
    assert {event["type"] for event in seen} >= {"agent.draining", "agent.changed"}
    everything = api.get(f"events?after={after}&limit=200").json()["items"]
    assert {event["object_id"] for event in everything} >= {world.other_agent.id, world.platform_agent.id}


def test_auditors_of_a_team_read_its_agents_records(api, world):
    auditor = member_of(world.ours, Role.ADMIN)
    for agent in (world.our_agent, world.other_agent):
        done(api.post(f"agents/{agent.id}:set-lease", {"lease_seconds": 1800}))

    records = json.dumps(auditor.get("audit?limit=200").json())

    assert world.our_agent.id in records
    assert world.other_agent.id not in records
    assert OTHER not in records
    assert PLATFORM not in records


def test_a_name_of_another_team_is_taken_and_nothing_more(world):
    editor = member_of(world.ours, Role.EDITOR)
    taken, free = f"{OTHER}-1", f"{OURS}-9"

    answer = editor.post("agents", {**AGENT, "name": taken, "topic_name": f"dcm.agent.{free}"})
    dcm = editor.post("/api/v1alpha1/agents", {**AGENT, "name": taken, "topic_name": f"dcm.agent.{free}"})

    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken")
    assert "Choose another name." in answer.json()["detail"]
    assert dcm.status_code == 409
    assert "team" not in answer.json()["detail"] + dcm.json()["detail"]


def test_a_role_without_limits_still_reaches_everything(world):
    viewer = Api(token_for("viewer"))

    assert len(viewer.get("agents").json()["items"]) == 4
    assert viewer.get(f"agents/{world.other_agent.id}").json()["team"] == OTHER
