"""Teams, members and roles with ORGANISATIONS on: other organisations do not exist for a tenant."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access import principals, role_bindings
from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal
from controlplane.access.organisations import add_project
from controlplane.access.roles.permission_matrix import bindings_that_allow
from controlplane.access.team_models import Organisation, Team
from controlplane.access.teams.organisations import create_organisation
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import FOR_EVERYONE, Action, Role
from controlplane.scopes import Scope
from overrides.projects import create_project
from tests.support.api_client import ACTOR, Api

ACTIONS = [Action.OVERRIDE_WRITE, Action.AGENT_WRITE, Action.AGENT_CONFIG_PUBLISH, Action.ACCESS_WRITE]


def make_tenant(slug: str) -> Organisation:
    """An organisation with a team, a project and an administrator, all of its name."""
    organisation = create_organisation(slug, title="", actor=ACTOR)
    create_team(f"{slug}-team", actor=ACTOR, organisation=organisation)
    create_project(f"{slug}-project", actor=ACTOR)
    add_project(organisation.id, f"{slug}-project")
    person = principals.create_principal(
        f"{slug}-admin", kind="service", actor=ACTOR, organisation=organisation
    )
    role_bindings.bind_role(person, Role.ADMIN, Scope(), actor=ACTOR)
    return organisation


@pytest.fixture
def acme(api: Api, settings: Any) -> Api:
    """The API as the administrator of organisation acme; globex is the other one."""
    settings.ORGANISATIONS = True
    for slug in ("acme", "globex"):
        make_tenant(slug)
    person = Principal.objects.get(name="acme-admin")
    return Api(principals.create_token(person, name="t", expires_at=None, actor=ACTOR)[1])


def test_a_tenant_manages_its_own_teams_with_its_own_people(acme):
    assert [team["slug"] for team in acme.get("teams").json()["items"]] == ["acme-team"]
    assert acme.put("teams/acme-team/members/acme-admin", None).status_code == 201
    assert acme.put("teams/globex-team/members/acme-admin", None).json()["code"] == "unknown_team"
    for stranger in ("globex-admin", "nobody"):
        added = acme.put(f"teams/acme-team/members/{stranger}", None)
        body = {"principal": stranger, "role": "operator", "owned_by": "acme-team"}
        assert added.json()["code"] == acme.post("role-bindings", body).json()["code"] == "unknown_principal"
    assert acme.post("me:can-i", {"action": "agent.read", "organisation": "globex"}).status_code == 404
    assert acme.post("me:can-i", {"action": "agent.read", "organisation": "acme"}).status_code == 200


def test_who_can_names_nobody_of_another_organisation(acme, api):
    def who(reader: Api, query: str) -> set[str]:
        return {row["principal"] for row in reader.get(f"access/matrix?{query}").json()["items"]}

    operator = api.get("me").json()["name"]

    assert who(acme, "action=agent.write&team=acme-team") == {"acme-admin"}
    assert who(acme, "action=override.write&project=acme-project") == {"acme-admin"}
    assert who(api, "action=agent.write&team=acme-team") == {operator, "acme-admin"}
    assert who(api, "action=override.write&project=globex-project") == {operator, "globex-admin"}
    assert who(api, "action=agent.write") == {operator}
    assert acme.get("access/matrix?action=override.write&project=globex-project").status_code == 403


@pytest.mark.parametrize("action", ACTIONS)
def test_the_matrix_agrees_with_each_confined_decision(acme, action):
    callers = [caller_for(principal) for principal in Principal.objects.all()]
    assert action not in FOR_EVERYONE
    for scope in (Scope(), Scope(domain="production"), Scope(project="acme-project")):
        for team in (None, Team.objects.get(slug="globex-team")):
            owner = team.id if team else None
            expected = {caller.name for caller in callers if caller.verdict(action, scope, owner).allowed}
            listed = {row.principal_name for row in bindings_that_allow(action, scope, team)}
            assert listed == expected, (scope, team)
