"""Roles of the operators' own, role bindings, and who may do what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.access.authentication import caller_for
from controlplane.access.models import AuditRecord, CustomRole, Principal, RoleBinding
from controlplane.access.roles.permission_matrix import bindings_that_allow
from controlplane.access.team_models import Team
from controlplane.access.teams.memberships import add_member
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import FOR_EVERYONE, Action, Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, Api, make_principal, token_for

JANITOR = {"name": "janitor", "title": "Cleans up", "actions": ["agent.write", "agent.read", "agent.read"]}


def hours(count: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=count)).isoformat()


def test_a_role_is_made_used_changed_and_deleted(api):
    made = api.post("roles", JANITOR)
    make_principal(name="joe")
    bound = api.post("role-bindings", {"principal": "joe", "role": "janitor"})
    joe = Api(api.post("tokens", {"name": "t", "principal": "joe"}).json()["token"])

    assert (made.status_code, made["Location"], made["ETag"]) == (201, "/api/v1/roles/janitor", '"v1"')
    assert made.json()["actions"] == ["agent.read", "agent.write"]
    assert joe.post("me:can-i", {"action": "agent.write"}).json()["allowed"]
    replacement = {"title": "Looks", "actions": ["agent.read"]}
    assert api.put("roles/janitor", replacement).status_code == 428
    assert api.put("roles/janitor", replacement, If_Match='"v1"')["ETag"] == '"v2"'
    assert not joe.post("me:can-i", {"action": "agent.write"}).json()["allowed"]
    assert api.put("roles/janitor", replacement, If_Match='"v1"').status_code == 412
    in_use = api.delete("roles/janitor", If_Match='"v2"')
    assert (in_use.json()["code"], in_use.json()["bindings"]) == ("still_in_use", 1)
    api.delete(f"role-bindings/{bound.json()['id']}")
    assert api.delete("roles/janitor", If_Match='"v2"').status_code == 204
    assert api.get("roles/janitor").json()["code"] == "unknown_role"
    records = AuditRecord.objects.filter(object_type="role").order_by("id")
    assert [record.action for record in records] == ["role.created", "role.changed", "role.deleted"]


def test_built_in_roles_are_listed_first_and_never_changed(api):
    api.post("roles", JANITOR)

    items = api.get("roles").json()["items"]

    assert [role["name"] for role in items] == [*Role, "janitor"]
    assert [role["is_built_in"] for role in items] == [True] * len(Role) + [False]
    assert api.get("roles/admin")["ETag"] == '"v0"'
    for answer in (
        api.put("roles/admin", {"actions": ["self.read"]}, If_Match="*"),
        api.delete("roles/admin", If_Match="*"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "built_in_role")
    assert api.post("roles", {**JANITOR, "name": "admin"}).json()["code"] == "name_taken"
    assert api.post("roles", JANITOR).json()["code"] == "name_taken"


@pytest.mark.parametrize(
    "body",
    [
        {**JANITOR, "actions": []},
        {**JANITOR, "actions": ["agent.explode"]},
        {**JANITOR, "name": "Janitor"},
        {**JANITOR, "name": "a" * 64},
        {"name": "janitor"},
    ],
)
def test_a_role_that_cannot_be_is_refused(api, body):
    assert api.post("roles", body).status_code == 400
    assert not CustomRole.objects.exists()


def test_a_role_allows_no_more_than_its_author_may_do(api):
    api.post("roles", {"name": "clerk", "actions": ["access.read", "access.write", "agent.read"]})
    make_principal(name="joe")
    api.post("role-bindings", {"principal": "joe", "role": "clerk"})
    joe = Api(api.post("tokens", {"name": "t", "principal": "joe"}).json()["token"])

    refused = joe.post("roles", JANITOR)

    assert (refused.status_code, "agent.write" in refused.json()["detail"]) == (403, True)
    assert joe.post("roles", {**JANITOR, "actions": ["agent.read"]}).status_code == 201
    assert joe.put("roles/janitor", {"actions": ["agent.write"]}, If_Match="*").status_code == 403
    assert joe.post("role-bindings", {"principal": "joe", "role": "admin"}).status_code == 403
    assert joe.post("role-bindings", {"principal": "joe", "role": "janitor"}).status_code == 201


def test_a_role_is_bound_to_a_team_for_its_objects_until_a_time(api):
    create_team("ml", actor=ACTOR)
    body = {"team": "ml", "role": "operator", "owned_by": "ml", "expires_at": hours(1)}

    bound = api.post("role-bindings", body)

    assert bound.status_code == 201, bound.content
    shown = bound.json()
    assert (shown["principal"], shown["team"], shown["owned_by"], shown["via"]) == (
        None,
        "ml",
        "ml",
        "manual",
    )
    assert shown["expires_at"]
    assert [binding["id"] for binding in api.get("role-bindings?team=ml").json()["items"]] == [shown["id"]]
    for query, count in (("owned_by=ml", 1), ("role=operator", 1), ("role=admin", 1), ("team=gone", 0)):
        assert len(api.get(f"role-bindings?{query}").json()["items"]) == count
    assert api.post("role-bindings", body).json()["code"] == "name_taken"


def test_an_expired_role_can_be_granted_again(api):
    joe = make_principal("viewer", name="joe")
    RoleBinding.objects.filter(principal=joe).update(expires_at=datetime.now(UTC) - timedelta(seconds=1))

    again = api.post("role-bindings", {"principal": "joe", "role": "viewer"})

    assert again.status_code == 201
    assert len(caller_for(joe).grants) == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"role": "viewer"}, 400, "invalid_request"),
        ({"role": "viewer", "principal": "joe", "team": "ml"}, 400, "invalid_request"),
        ({"role": "emperor", "principal": "joe"}, 404, "unknown_role"),
        ({"role": "viewer", "principal": "gone"}, 404, "unknown_principal"),
        ({"role": "viewer", "team": "gone"}, 404, "unknown_team"),
        ({"role": "viewer", "principal": "joe", "owned_by": "gone"}, 404, "unknown_team"),
        (
            {"role": "viewer", "principal": "joe", "expires_at": "2020-01-01T00:00Z"},
            400,
            "invalid_request",
        ),
        ({"role": "viewer", "principal": "joe", "scope": {"workflow": "w"}}, 422, "invalid_scope"),
    ],
)
def test_a_binding_that_cannot_be_is_refused_with_its_reason(api, body, status, code):
    create_team("ml", actor=ACTOR)
    make_principal(name="joe")

    answer = api.post("role-bindings", body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.fixture
def people(api):
    """Somebody for each way to have a right."""
    ml, ads = create_team("ml", actor=ACTOR), create_team("ads", actor=ACTOR)
    CustomRole.objects.create(name="janitor", actions=["agent.write"])
    for name in ("direct", "member", "claimed", "other", "off", "late", "scoped"):
        make_principal(name=name)
    for body in (
        {"principal": "direct", "role": "operator"},
        {"principal": "scoped", "role": "editor", "scope": {"project": "p", "domain": "d"}},
        {"team": "ml", "role": "janitor", "owned_by": "ml"},
        {"team": "ads", "role": "admin", "owned_by": "ads"},
        {"principal": "off", "role": "admin"},
        {"principal": "late", "role": "admin"},
    ):
        assert api.post("role-bindings", body).status_code == 201
    for team, name, via in ((ml, "member", "manual"), (ml, "claimed", "claim"), (ads, "other", "manual")):
        add_member(team, Principal.objects.get(name=name), actor=ACTOR, via=via)
    Principal.objects.filter(name="off").update(is_active=False)
    RoleBinding.objects.filter(principal__name="late").update(expires_at=datetime.now(UTC))


def who(api, query):
    answer = api.get(f"access/matrix?{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["items"]


def test_the_matrix_names_who_can_and_by_what(api, people):
    rows = {row["principal"]: row for row in who(api, "action=agent.write&team=ml")}
    admin = api.get("me").json()["name"]

    assert set(rows) == {admin, "direct", "member", "claimed"}
    assert (rows["claimed"]["binding"]["team"], rows["claimed"]["member_via"]) == ("ml", "claim")
    assert (rows["member"]["binding"]["role"], rows["member"]["member_via"]) == ("janitor", "manual")
    assert (rows["direct"]["binding"]["principal"], rows["direct"]["member_via"]) == ("direct", None)
    assert {row["principal"] for row in who(api, "action=agent.write")} == {admin, "direct"}
    at_flow = "action=override.write&project=p&domain=d&workflow=w"
    assert {row["principal"] for row in who(api, at_flow)} == {admin, "scoped"}
    assert {row["principal"] for row in who(api, "action=override.write&project=p")} == {admin}


def test_pages_of_the_matrix_name_every_way_once(api, people):
    add_member(Team.objects.get(slug="ml"), Principal.objects.get(name="member"), actor=ACTOR, via="scim")
    rows, query = [], "action=agent.write&team=ml&limit=1"
    cursor = ""
    while cursor is not None:
        page = api.get(f"access/matrix?{query}{cursor and f'&cursor={cursor}'}").json()
        rows += [(row["principal"], row["member_via"]) for row in page["items"]]
        cursor = page["next_cursor"]

    assert len(rows) == len(set(rows)) == 5
    assert rows == sorted(rows, key=lambda row: row[0])


def test_the_matrix_agrees_with_each_decision(api, people):
    ml = Team.objects.get(slug="ml")
    callers = [caller_for(principal) for principal in Principal.objects.filter(is_active=True)]
    for action in frozenset(Action) - FOR_EVERYONE:
        for scope in (Scope(), Scope("d", "p"), Scope(project="q")):
            for team in (None, ml):
                owner = team.id if team else None
                expected = {caller.name for caller in callers if caller.verdict(action, scope, owner).allowed}
                listed = {row.principal_name for row in bindings_that_allow(action, scope, team)}
                assert listed == expected, (action, scope, team)


def test_the_matrix_needs_a_question_that_has_an_answer(api, people):
    everyone = api.get("access/matrix?action=self.read")

    assert (everyone.status_code, everyone.json()["errors"][0]["code"]) == (400, "for_everyone")
    assert api.get("access/matrix?action=x").status_code == 400
    assert api.get("access/matrix").status_code == 400
    assert api.get("access/matrix?action=agent.read&team=gone").json()["code"] == "unknown_team"
    assert Api(token_for("editor")).get("access/matrix?action=agent.read").status_code == 403
