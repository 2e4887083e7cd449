"""The console for somebody limited to a team: another team's agents, and the platform's, do not exist."""

from __future__ import annotations

import uuid

import pytest

from controlplane.identity.roles import Role
from registry.agents.models import Agent
from registry.environments.models import Environment
from registry.joining.models import JoinToken
from tests.support.api_client import Api, logged_in
from tests.support.two_teams import OTHER, OURS, PLATFORM, TwoTeams, browser_of, make_two_teams

PAGES = (
    *("/", "/search?q=zq", "/agents", "/agents?environment=shared", "/environments", "/fleet-guards"),
    *("/task-types", "/task-types/common", "/events", "/audit", "/join-tokens"),
)


@pytest.fixture
def world(api: Api) -> TwoTeams:
    return make_two_teams(api)


def test_no_page_names_another_owner(world):
    Environment.objects.filter(name__in=["shared", "", f"{OTHER}-env"]).update(
        guard_engaged_at="2026-11-21T09:30:00Z", guard_reason="918273645 silent", guard_due_count=918273645
    )
    administrator = browser_of(world.ours, Role.ADMIN)

    for path in PAGES:
        answer = administrator.get(path)
        text = answer.content.decode()
        assert answer.status_code == 200, path
        assert OTHER not in text, path
        assert PLATFORM not in text, path
        assert "918273645" not in text, path
        assert "4,848" not in text, path


def test_ones_own_agents_are_shown_with_their_team(world):
    viewer = browser_of(world.ours, Role.VIEWER)

    assert world.our_agent.name in viewer.get("/agents").content.decode()
    assert OURS in viewer.get(f"/agents/{world.our_agent.id}").content.decode()
    assert world.our_agent.name in viewer.get("/search?q=zq").content.decode()
    assert "shared" in viewer.get("/environments").content.decode()
    assert viewer.get("/join-tokens").status_code == 403


def test_pages_of_other_agents_do_not_exist(world):
    editor = browser_of(world.ours, Role.EDITOR)

    for agent_id in (world.other_agent.id, world.platform_agent.id, str(uuid.uuid4())):
        for action in ("", "/approve", "/drain", "/resume", "/transfer", "/retire", "/remove"):
            assert editor.get(f"/agents/{agent_id}{action}").status_code == 404, action
            if action:
                form = {"reason": "x", "force": "on", "team": OURS}
                assert editor.post(f"/agents/{agent_id}{action}", form).status_code == 404, action
    assert set(Agent.objects.values_list("state", flat=True)) == {"ready"}


def test_join_tokens_are_created_and_revoked_for_ones_team(world):
    administrator = browser_of(world.ours, Role.ADMIN)
    form = {"name": "t", "name_pattern": "n*", "uses": "1", "hours": "1"}

    assert administrator.post("/join-tokens", form).status_code == 200
    assert administrator.post("/join-tokens", {**form, "team": OTHER}).status_code == 404

    created = JoinToken.objects.get(name="t")
    assert created.team == world.ours
    foreign = JoinToken.objects.get(name=f"{OTHER}-1-join")
    assert administrator.post(f"/join-tokens/{foreign.id}/revoke", {}).status_code == 404
    assert administrator.post(f"/join-tokens/{created.id}/revoke", {}).status_code == 302


def test_an_administrator_transfers_an_agent(world):
    administrator = logged_in("boss", Role.ADMIN)
    path = f"/agents/{world.our_agent.id}/transfer"

    assert OURS in administrator.get(path).content.decode()
    assert administrator.post(path, {"team": OTHER, "reason": "x"}).status_code == 302

    assert Agent.objects.get(id=world.our_agent.id).team == world.other
    assert administrator.post(path, {"team": "", "reason": "x"}).status_code == 302
    assert Agent.objects.get(id=world.our_agent.id).team is None
