"""Administrators of a scope or team manage access there, and nowhere else; nobody gives what they lack."""

from __future__ import annotations

import pytest

from controlplane.access import principals, role_bindings
from controlplane.access.models import RoleBinding
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.teams.memberships import add_member
from controlplane.access.teams.teams import create_team, get_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, Api, make_principal, token_for

P, Q = Scope(project="p"), Scope(project="q")


def api_of(principal) -> Api:
    _, secret = principals.create_token(principal, name="t", expires_at=None, actor=ACTOR)
    return Api(secret)


@pytest.fixture(autouse=True)
def _world(db):
    make_principal("admin", name="root")
    for slug in ("ml", "ads"):
        create_team(slug, actor=ACTOR)
    make_principal(name="joe")
    make_principal("viewer", name="at-q", scope=Q)
    for_ads = BindingTerms(owned_by=get_team("ads"))
    role_bindings.bind_role(
        make_principal(name="for-ads"), Role.OPERATOR, Scope(), actor=ACTOR, terms=for_ads
    )


@pytest.fixture
def of_project():
    """An administrator of project p."""
    return Api(token_for("admin", scope=P))


@pytest.fixture
def of_team():
    """An administrator of team ml."""
    lead = make_principal(name="lead")
    terms = BindingTerms(owned_by=get_team("ml"))
    role_bindings.bind_role(lead, Role.ADMIN, Scope(), actor=ACTOR, terms=terms)
    return api_of(lead)


def status(api: Api, **body: object) -> int:
    return api.post("role-bindings", {"principal": "joe", **body}).status_code


def test_an_administrator_of_a_project_grants_roles_there_and_below(of_project):
    below = {"project": "p", "domain": "d"}

    assert status(of_project, role="editor", scope={"project": "p"}) == 201
    assert status(of_project, role="admin", scope=below) == 201
    for scope in ({}, {"project": "q"}, {"domain": "d"}):
        assert status(of_project, role="viewer", scope=scope) == 403
    assert status(of_project, role="viewer", scope={"project": "p"}, owned_by="ml") == 404


def test_an_administrator_of_a_team_grants_roles_on_its_objects(of_team):
    assert status(of_team, role="operator", owned_by="ml") == 201
    assert status(of_team, role="publisher", owned_by="ml", scope={"project": "p"}) == 201
    assert of_team.post("role-bindings", {"team": "ml", "role": "admin", "owned_by": "ml"}).status_code == 201
    assert status(of_team, role="operator") == 403
    assert status(of_team, role="viewer", scope={"project": "p"}) == 403
    assert status(of_team, role="operator", owned_by="ads") == 404
    assert (
        of_team.post("role-bindings", {"team": "ads", "role": "viewer", "owned_by": "ml"}).status_code == 404
    )


def test_each_sees_and_removes_the_bindings_that_it_administers(of_project, of_team):
    status(of_project, role="editor", scope={"project": "p"})
    status(of_team, role="operator", owned_by="ml")

    at_p = {(b["role"], b["scope"]["project"]) for b in of_project.get("role-bindings").json()["items"]}
    for_ml = {(b["role"], b["owned_by"]) for b in of_team.get("role-bindings").json()["items"]}

    assert at_p == {("admin", "p"), ("editor", "p")}
    assert for_ml == {("admin", "ml"), ("operator", "ml")}
    others = RoleBinding.objects.filter(principal__name__in=["root", "at-q", "for-ads"])
    for api in (of_project, of_team):
        for binding in others:
            answer = api.delete(f"role-bindings/{binding.id}")
            assert (answer.status_code, answer.json()["code"]) == (404, "unknown_role_binding")
    own = RoleBinding.objects.get(principal__name="joe", role="operator")
    assert of_project.delete(f"role-bindings/{own.id}").status_code == 404
    assert of_team.delete(f"role-bindings/{own.id}").status_code == 204


def test_who_may_only_read_removes_nothing(of_project):
    auditor = Api(token_for("auditor", scope=P))
    status(of_project, role="editor", scope={"project": "p"})
    editor = RoleBinding.objects.get(principal__name="joe")

    assert len(auditor.get("role-bindings").json()["items"]) == 3
    assert auditor.delete(f"role-bindings/{editor.id}").status_code == 403
    assert status(auditor, role="auditor", scope={"project": "p"}) == 403


def test_an_administrator_of_a_team_manages_its_members(of_team):
    assert of_team.put("teams/ml/members/joe", None).status_code == 201
    assert [m["principal"] for m in of_team.get("teams/ml/members").json()["items"]] == ["joe"]
    assert of_team.put("teams/ml", {"title": "ML"}, If_Match="*").status_code == 200
    assert of_team.delete("teams/ml/members/joe").status_code == 204
    assert of_team.put("teams/ads/members/joe", None).status_code == 404
    assert of_team.delete("teams/ads/members/joe").status_code == 404
    # These concern the installation.
    assert of_team.put("teams/ml", {"external_group": "everyone"}, If_Match="*").status_code == 403
    assert of_team.delete("teams/ml", If_Match="*").status_code == 403
    assert of_team.post("teams", {"slug": "mine"}).status_code == 403
    assert of_team.post("roles", {"name": "mine", "actions": ["agent.read"]}).status_code == 403
    assert of_team.get("principals").status_code == 403
    assert of_team.get("roles").status_code == 200


def test_a_member_manages_nothing(of_team):
    joe = api_of(principals.get_principal("joe"))
    of_team.put("teams/ml/members/joe", None)

    assert joe.get("teams/ml/members").status_code == 200
    assert joe.put("teams/ml/members/root", None).status_code == 403
    assert joe.delete("teams/ml/members/joe").status_code == 403
    assert joe.get("role-bindings").status_code == 403


def test_membership_gives_nothing_that_the_one_who_adds_it_lacks(of_team):
    ml = get_team("ml")
    role_bindings.bind_role(ml, Role.OPERATOR, Scope(), actor=ACTOR, terms=BindingTerms(owned_by=ml))
    assert of_team.put("teams/ml/members/joe", None).status_code == 201
    of_team.delete("teams/ml/members/joe")

    role_bindings.bind_role(ml, Role.EDITOR, Scope(), actor=ACTOR)
    refused = of_team.put("teams/ml/members/lead", None)

    assert (refused.status_code, "override.write at global" in refused.json()["detail"]) == (403, True)
    assert not ml.memberships.exists()


def test_a_delegated_administrator_asks_who_can_where_it_administers(of_project, of_team):
    at_p = of_project.get("access/matrix?action=override.write&project=p").json()["items"]
    for_ml = of_team.get("access/matrix?action=agent.write&team=ml").json()["items"]

    assert len(at_p) == 2
    assert [row["principal"] for row in for_ml] == ["lead", "root"]
    assert of_project.get("access/matrix?action=override.write&project=q").status_code == 403
    assert of_project.get("access/matrix?action=agent.write").status_code == 403
    assert of_team.get("access/matrix?action=agent.write").status_code == 403
    assert of_team.get("access/matrix?action=agent.write&team=ads").status_code == 404


def test_a_ceiling_of_a_token_holds_for_administration_too():
    lead = make_principal("admin", name="boss")
    _, secret = principals.create_token(lead, name="t", expires_at=None, actor=ACTOR, scopes=["read"])

    limited = Api(secret)

    assert limited.get("role-bindings").status_code == 200
    assert status(limited, role="viewer") == 403
    assert limited.put("teams/ml/members/joe", None).status_code == 403


def test_a_role_through_a_team_delegates_as_ones_own_does():
    ops = create_team("ops", actor=ACTOR)
    role_bindings.bind_role(ops, Role.ADMIN, P, actor=ACTOR)
    joe = principals.get_principal("joe")
    add_member(ops, joe, actor=ACTOR)

    assert status(api_of(joe), role="editor", scope={"project": "p"}) == 201
    assert status(api_of(joe), role="editor", scope={"project": "q"}) == 403
