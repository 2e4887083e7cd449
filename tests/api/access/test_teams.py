"""Teams, members and organisations over HTTP."""

from __future__ import annotations

import pytest

from controlplane.access.models import AuditRecord, RoleBinding
from controlplane.access.team_models import Team
from controlplane.access.teams.memberships import add_member
from controlplane.access.teams.teams import create_team
from tests.support.api_client import ACTOR, Api, make_principal, token_for


@pytest.fixture
def ml(api):
    answer = api.post("teams", {"slug": "ml", "title": "Machine learning"})
    assert answer.status_code == 201, answer.content
    return answer


def test_a_team_is_made_read_changed_and_deleted(api, ml):
    read = api.get("teams/ml")
    changed = api.put("teams/ml", {"title": "ML", "external_group": "cp-ml"}, If_Match=read["ETag"])

    assert (ml["Location"], ml["ETag"]) == ("/api/v1/teams/ml", '"v1"')
    assert read.json() == ml.json()
    assert (read.json()["organisation"], read.json()["external_group"]) == ("default", None)
    assert (changed.json()["title"], changed.json()["external_group"]) == ("ML", "cp-ml")
    assert changed["ETag"] == '"v2"'
    assert api.put("teams/ml", {"title": "X"}, If_Match=read["ETag"]).status_code == 412
    assert api.put("teams/ml", {"title": "X"}).status_code == 428
    assert api.get("teams/ml", If_None_Match='"v2"').status_code == 304
    assert api.delete("teams/ml").status_code == 428
    assert api.delete("teams/ml", If_Match='"v2"').status_code == 204
    assert api.get("teams/ml").json()["code"] == "unknown_team"


def test_a_dry_run_saves_nothing_and_a_repeated_request_happens_once(api):
    body = {"slug": "ml"}

    tried = api.post("teams?dry_run=true", body)
    assert (tried.status_code, tried["Dry-Run"], Team.objects.count()) == (201, "true", 0)
    first, again = (api.post("teams", body, Idempotency_Key="k") for _ in range(2))

    assert (first.json(), again["Idempotent-Replayed"]) == (again.json(), "true")
    assert AuditRecord.objects.filter(action="team.created").count() == 1
    assert api.post("teams", body).json()["code"] == "name_taken"
    assert api.delete("teams/ml?dry_run=true", If_Match="*").status_code == 204
    assert Team.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"slug": "Team"}, 400, "invalid_request"),
        ({}, 400, "invalid_request"),
        ({"slug": "a", "version": 3}, 400, "invalid_request"),
        ({"slug": "a", "organisation": "acme"}, 404, "unknown_organisation"),
    ],
)
def test_a_team_that_cannot_be_made_is_refused_with_its_reason(api, body, status, code):
    answer = api.post("teams", body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_members_are_added_listed_and_removed(api, ml):
    ada = make_principal(name="ada")
    add_member(Team.objects.get(), ada, actor=ACTOR, via="claim")

    added = api.put("teams/ml/members/ada", None)
    again = api.put("teams/ml/members/ada", None)
    listed = api.get("teams/ml/members").json()["items"]

    assert (added.status_code, again.status_code) == (201, 200)
    assert [(member["principal"], member["via"]) for member in listed] == [("ada", ["claim", "manual"])]
    assert api.delete("teams/ml/members/ada").status_code == 204
    refused = api.delete("teams/ml/members/ada")
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_member")
    assert "claim of the identity provider" in refused.json()["detail"]
    assert api.put("teams/ml/members/nobody", None).json()["code"] == "unknown_principal"


def test_pages_of_members_name_each_once(api, ml):
    for name in ("a", "b", "c"):
        principal = make_principal(name=name)
        for via in ("manual", "scim"):
            add_member(Team.objects.get(), principal, actor=ACTOR, via=via)

    first = api.get("teams/ml/members?limit=2").json()
    rest = api.get(f"teams/ml/members?limit=2&cursor={first['next_cursor']}").json()

    assert [member["principal"] for member in first["items"] + rest["items"]] == ["a", "b", "c"]


def test_members_and_holders_of_a_role_for_it_see_a_team_and_nobody_else_does(api, ml):
    create_team("ads", actor=ACTOR)
    secrets = {}
    for name in ("member", "publisher", "stranger"):
        make_principal(name=name)
        secrets[name] = api.post("tokens", {"name": "t", "principal": name}).json()["token"]
    api.put("teams/ml/members/member", None)
    api.post("role-bindings", {"principal": "publisher", "role": "publisher", "owned_by": "ml"})

    for name, visible in (("member", ["ml"]), ("publisher", ["ml"]), ("stranger", [])):
        reader = Api(secrets[name])
        assert [team["slug"] for team in reader.get("teams").json()["items"]] == visible
        assert reader.get("teams/ml").status_code == (200 if visible else 404)
        assert reader.get("teams/ads/members").status_code == 404
    assert Api(secrets["member"]).get("me").json()["teams"] == ["ml"]
    assert len(api.get("teams").json()["items"]) == 2
    assert [team["slug"] for team in api.get("teams?member=member").json()["items"]] == ["ml"]


def test_me_names_the_teams_and_what_the_roles_are_limited_to(api, ml):
    api.post("role-bindings", {"team": "ml", "role": "operator", "owned_by": "ml"})
    make_principal(name="ada")
    api.put("teams/ml/members/ada", None)
    ada = Api(api.post("tokens", {"name": "t", "principal": "ada"}).json()["token"])

    assert ada.get("me").json()["grants"] == [
        {"role": "operator", "scope": api.get("me").json()["grants"][0]["scope"], "owned_by": "ml"}
    ]


def test_can_i_asks_about_a_teams_objects(api, ml):
    api.post("role-bindings", {"team": "ml", "role": "operator", "owned_by": "ml"})
    make_principal(name="ada")
    api.put("teams/ml/members/ada", None)
    ada = Api(api.post("tokens", {"name": "t", "principal": "ada"}).json()["token"])

    def can(**question):
        return ada.post("me:can-i", {"action": "agent.write", **question})

    assert can(team="ml").json() == {
        "allowed": True,
        "reason": "The role operator at global for team ml allows it.",
    }
    assert not can().json()["allowed"]
    assert can(organisation="default", team="ml").json()["allowed"]
    assert can(organisation="acme").json()["code"] == "unknown_organisation"
    create_team("ads", actor=ACTOR)
    assert can(team="ads").json()["code"] == can(team="gone").json()["code"] == "unknown_team"


def test_there_is_one_organisation_unless_the_operator_turns_them_on(api, settings):
    listed = api.get("organisations").json()["items"]
    refused = api.post("organisations", {"slug": "acme"})
    settings.ORGANISATIONS = True
    made = api.post("organisations", {"slug": "acme", "title": "Acme"})

    assert [organisation["slug"] for organisation in listed] == ["default"]
    assert (refused.status_code, refused.json()["code"]) == (409, "organisations_off")
    assert (made.status_code, made["Location"]) == (201, "/api/v1/organisations/acme")
    assert api.get("organisations/acme").json()["title"] == "Acme"
    assert api.post("organisations", {"slug": "acme"}).json()["code"] == "name_taken"
    assert api.post("organisations", {"slug": "A b"}).status_code == 400
    assert api.post("teams", {"slug": "ml", "organisation": "acme"}).json()["organisation"] == "acme"
    assert AuditRecord.objects.filter(action="organisation.created").count() == 1


def test_only_administrators_of_everything_see_organisations(db):
    for role in ("editor", "operator"):
        assert Api(token_for(role)).get("organisations").status_code == 403
    assert Api(token_for("auditor")).get("organisations").status_code == 200
    assert Api(token_for("auditor")).post("organisations", {"slug": "x"}).status_code == 403


def test_a_deleted_team_takes_its_roles_with_it(api, ml):
    make_principal(name="ada")
    api.post("role-bindings", {"team": "ml", "role": "editor"})
    api.post("role-bindings", {"principal": "ada", "role": "operator", "owned_by": "ml"})

    api.delete("teams/ml", If_Match="*")

    assert list(RoleBinding.objects.values_list("role", flat=True)) == ["admin"]
