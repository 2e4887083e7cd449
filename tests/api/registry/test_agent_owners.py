"""Owners of agents and join tokens: chosen at the start, limited by roles, changed by a transfer."""

from __future__ import annotations

import uuid

import pytest
from django.test import override_settings

from controlplane.access import principals, role_bindings
from controlplane.access.models import AuditRecord, RoleBinding
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.teams.teams import create_team, delete_team, get_team
from controlplane.errors import StillInUse
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agents.models import Agent, Lease
from registry.joining.models import JoinToken
from tests.support.api_client import ACTOR, AGENT, Api, token_for
from tests.support.two_teams import (
    BEAT,
    OTHER,
    OURS,
    TwoTeams,
    done,
    join_agent,
    limited_principal,
    make_two_teams,
    member_of,
)


@pytest.fixture
def world(api: Api) -> TwoTeams:
    return make_two_teams(api)


def registration(name: str, **fields: object) -> dict[str, object]:
    return {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", **fields}


def test_a_role_limited_to_one_team_registers_for_it(world):
    editor = member_of(world.ours, Role.EDITOR)

    assert editor.post("agents", registration("n1")).json()["team"] == OURS
    assert editor.post("agents", registration("n2", team=OURS)).json()["team"] == OURS
    for team in (OTHER, "absent"):
        answer = editor.post("agents", registration("n3", team=team))
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_team")
        assert answer.json()["detail"] == f"Team {team!r} does not exist."


def test_a_role_limited_to_several_teams_has_to_name_one(world):
    principal = limited_principal(world.ours, Role.AGENT)
    terms = BindingTerms(owned_by=world.other)
    role_bindings.bind_role(principal, Role.AGENT, Scope(), actor=ACTOR, terms=terms)
    _, secret = principals.create_token(principal, name="t", expires_at=None, actor=ACTOR)

    answer = Api(secret).post("agents", registration("n1"))

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/team")
    assert Api(secret).post("agents", registration("n1", team=OTHER)).json()["team"] == OTHER


def test_without_limits_an_agent_is_the_platforms_unless_a_team_is_named(api, world):
    assert api.post("agents", registration("n1")).json()["team"] is None
    assert api.post("agents", registration("n2", team=OTHER)).json()["team"] == OTHER
    again = api.post("agents", registration("n2"))
    assert (again.status_code, again.json()["team"]) == (200, OTHER)
    assert api.post("agents", registration("n2", team=OURS)).status_code == 409
    assert Agent.objects.get(name="n2").team == world.other


def test_an_agent_that_joins_belongs_to_the_tokens_team_and_is_limited_to_it(world):
    agent = Agent.objects.get(id=world.our_agent.id)

    binding = RoleBinding.objects.get(principal_id=agent.registered_by)
    assert (agent.team, binding.role, binding.owned_by) == (world.ours, "agent", world.ours)
    actions = set(AuditRecord.objects.filter(team_id=world.ours.id).values_list("action", flat=True))
    assert {"agent.registered", "role.bound", "provider.registered"} <= actions
    event = Event.objects.get(type="agent.registered", object_id=world.our_agent.id)
    assert event.team_id == world.ours.id
    assert world.our_agent.api.put(f"agents/{world.our_agent.id}/heartbeat", BEAT).status_code == 200
    again = world.our_agent.api.post("agents", registration(world.our_agent.name, environment="shared"))
    assert (again.status_code, again.json()["team"]) == (200, OURS)


def test_join_tokens_are_their_teams_administrators(api, world):
    admin, editor = member_of(world.ours, Role.ADMIN), member_of(world.ours, Role.EDITOR)
    foreign = JoinToken.objects.get(name=f"{OTHER}-1-join")

    created = admin.post("join-tokens", {"name": "t", "name_pattern": "n*"})
    assert (created.status_code, created.json()["team"]) == (201, OURS)
    assert admin.post("join-tokens", {"name": "t", "name_pattern": "*", "team": OTHER}).status_code == 404
    assert {row["team"] for row in admin.get("join-tokens").json()["items"]} == {OURS}
    assert editor.get("join-tokens").status_code == 403
    assert editor.post("join-tokens", {"name": "t", "name_pattern": "n*"}).status_code == 403
    absent = admin.delete(f"join-tokens/{uuid.uuid4()}").json()
    refused = admin.delete(f"join-tokens/{foreign.id}")
    assert (refused.status_code, refused.json()["detail"]) == (404, absent["detail"])
    assert admin.delete(f"join-tokens/{created.json()['id']}").status_code == 204
    assert len(api.get(f"join-tokens?team={OTHER}").json()["items"]) == 2


def test_a_viewer_of_a_project_reads_no_join_tokens(world):
    answer = Api(token_for("admin", scope=Scope(project="p"))).get("join-tokens")

    assert answer.status_code == 403


def test_a_teams_token_replaces_agents_of_that_team_alone(api, world):
    def take_over(name: str, team: str | None) -> object:
        terms = {"name": "t", "name_pattern": "*", "may_take_over": True, "team": team}
        secret = done(api.post("join-tokens", terms))["token"]
        return Api(secret).post("agents:join", registration(name, environment="shared"))

    foreign, platforms = take_over(f"{OTHER}-1", OURS), take_over("zqplatform-1", OURS)
    assert {foreign.status_code, platforms.status_code} == {409}
    assert "Choose another name." in foreign.json()["detail"]
    assert take_over(f"{OURS}-1", OURS).json()["agent"]["team"] == OURS
    by_platform = take_over(f"{OTHER}-1", None).json()
    assert by_platform["agent"]["team"] == OTHER
    token = Api(by_platform["token"])
    assert token.put(f"agents/{world.other_agent.id}/heartbeat", BEAT).status_code == 200
    assert token.get(f"agents/{world.our_agent.id}").status_code == 404


def test_a_transfer_moves_the_agent_with_its_credential(api, world):
    agent, path = world.our_agent, f"agents/{world.our_agent.id}"
    done(agent.api.put(f"{path}/heartbeat", BEAT))
    assert Lease.objects.get(agent_id=agent.id).token_digest is not None

    moved = api.post(f"{path}:transfer?change_message=reorganised", {"team": OTHER})

    assert (moved.status_code, moved.json()["team"]) == (200, OTHER)
    assert Lease.objects.get(agent_id=agent.id).token_digest is None
    assert member_of(world.ours, Role.VIEWER).get(path).status_code == 404
    assert member_of(world.other, Role.VIEWER).get(path).status_code == 200
    assert agent.api.put(f"{path}/heartbeat", BEAT).status_code == 200
    assert agent.api.get(f"agents/{world.other_agent.id}").status_code == 200
    moves = Event.objects.filter(object_id=agent.id, type__in=["agent.given_away", "agent.taken_over"])
    assert dict(moves.values_list("type", "team_id")) == {
        "agent.given_away": world.ours.id,
        "agent.taken_over": world.other.id,
    }
    given_away = AuditRecord.objects.get(action="agent.given_away")
    assert (given_away.before, given_away.after, given_away.reason) == ({"team": OURS}, {}, "reorganised")
    assert api.post(f"{path}:transfer", {"team": None}).json()["team"] is None


def test_a_transfer_needs_rights_on_both_sides(api, world):
    editor, path = member_of(world.ours, Role.EDITOR), f"agents/{world.our_agent.id}:transfer"

    assert editor.post(path, {"team": OTHER}).status_code == 404
    assert editor.post(path, {"team": "absent"}).status_code == 404
    assert editor.post(path, {"team": None}).status_code == 403
    assert editor.post(path, {"team": OURS}).status_code == 200
    assert member_of(world.ours, Role.VIEWER).post(path, {"team": OURS}).status_code == 403
    assert editor.post(f"agents/{world.platform_agent.id}:transfer", {"team": OURS}).status_code == 404
    both = limited_principal(world.ours, Role.EDITOR, name="both")
    terms = BindingTerms(owned_by=world.other)
    role_bindings.bind_role(both, Role.VIEWER, Scope(), actor=ACTOR, terms=terms)
    _, secret = principals.create_token(both, name="t", expires_at=None, actor=ACTOR)
    assert Api(secret).post(path, {"team": OTHER}).status_code == 404
    assert api.post(path, {"team": "absent"}).json()["code"] == "unknown_team"
    assert api.post(f"{path}?dry_run=true", {"team": OTHER}).json()["team"] == OTHER
    assert Agent.objects.get(id=world.our_agent.id).team == world.ours


def test_a_shared_token_loses_an_agent_that_leaves_its_team(api, world):
    editor = member_of(world.ours, Role.EDITOR)
    agent_id = editor.post("agents", registration("n1")).json()["agent_id"]
    done(editor.put(f"agents/{agent_id}/heartbeat", BEAT))

    done(api.post(f"agents/{agent_id}:transfer", {"team": OTHER}))

    assert editor.put(f"agents/{agent_id}/heartbeat", BEAT).status_code == 404
    in_bulk = editor.post("agents:heartbeat", {"items": [{"agent_id": agent_id, **BEAT}]})
    assert in_bulk.json()["items"][0]["status"] == 404
    assert editor.post("agents", registration("n1")).status_code == 409


@override_settings(DCM_AGENTS=True)
def test_agents_of_a_team_need_a_token(api, world):
    body = registration("n1", service_types=["vm"])
    dcm = Api()
    agent_id = done(dcm.post("/api/v1alpha1/agents", body))["agent_id"]
    path = f"/api/v1alpha1/agents/{agent_id}"
    assert dcm.get(path).status_code == 200

    done(api.post(f"agents/{agent_id}:transfer", {"team": OURS}))

    assert dcm.get(path).status_code == 404
    assert dcm.put(f"{path}/heartbeat", BEAT).status_code == 404
    assert dcm.post("/api/v1alpha1/agents", body).status_code == 409
    with_token = member_of(world.ours, Role.AGENT)
    assert with_token.post("/api/v1alpha1/agents", body).status_code == 200
    assert with_token.put(f"{path}/heartbeat", BEAT).status_code == 200
    assert member_of(world.other, Role.AGENT).get(path).status_code == 404


def test_a_team_with_agents_is_not_deleted(api, world):
    team = create_team("zqempty", actor=ACTOR)
    agent = join_agent(api, "n1", "zqempty")
    with pytest.raises(StillInUse, match="agents"):
        delete_team(get_team("zqempty"), actor=ACTOR)

    done(api.delete(f"agents/{agent.id}?force=true"))
    delete_team(get_team("zqempty"), actor=ACTOR)

    assert not JoinToken.objects.filter(team_id=team.id).exists()
