"""Groups by SCIM become teams, lists have pages and filters, and only a token for SCIM may call."""

from __future__ import annotations

from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.role_bindings import bind_role
from controlplane.access.scim.models import ScimGroup, ScimUser
from controlplane.access.scim.team_names import team_name_of
from controlplane.access.team_models import Membership, Team, Via
from controlplane.access.teams.memberships import add_member
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.api.access.scim.conftest import ScimClient, scim_token
from tests.support.api_client import ACTOR, Api, make_principal


def test_a_member_of_a_group_has_the_roles_of_the_team(scim):
    ann = scim.user("ann")
    scim.group("ml", ann["id"])
    bind_role(Team.objects.get(slug="ml"), Role.EDITOR, Scope(), actor=ACTOR)

    browser = Client()
    browser.force_login(Principal.objects.get(id=ann["id"]))
    grants = browser.get("/api/v1/me").json()["grants"]
    assert [grant["role"] for grant in grants] == ["editor"]


def test_a_group_never_takes_over_a_team_by_its_name(scim):
    create_team("admins", actor=ACTOR)
    ann = scim.user("ann")

    refused = scim.group("Admins", ann["id"], status=409)

    assert "Set its external group" in refused["detail"]
    assert not Membership.objects.exists()


def test_a_team_that_was_prepared_for_a_group_is_used(scim):
    team = create_team("ml", actor=ACTOR, external_group="corp-ml")
    by_hand = make_principal(name="robot")
    add_member(team, by_hand, actor=ACTOR)
    ann = scim.user("ann")

    group = scim.group("corp-ml", ann["id"])
    scim.patch(f"Groups/{group['id']}", {"op": "replace", "path": "members", "value": []})

    assert group["id"] == str(team.id)
    assert list(Membership.objects.values_list("principal__name", "via")) == [("robot", Via.MANUAL)]


def test_groups_with_alike_names_are_different_teams(scim):
    first, second = scim.group("Data & AI"), scim.group("Data / AI")

    assert [Team.objects.get(id=group["id"]).slug for group in (first, second)] == ["data-ai", "data-ai-2"]
    assert scim.group("DATA & ai", status=409)["scimType"] == "uniqueness"


@pytest.mark.parametrize(
    ("display_name", "expected"),
    [
        ("ML Platform", "ml-platform"),
        ("--x--", "x"),
        ("a" * 80, "a" * 63),
        ("Größe", "gr-e"),
        ("研究", "group-" + "b" * 0),
    ],
)
def test_the_name_of_a_team_is_legal(display_name, expected):
    name = team_name_of(display_name, lambda _: True)

    assert name.startswith(expected)
    assert len(name) <= 63
    assert team_name_of(display_name, lambda name: name.endswith("-3")).endswith("-3")


def test_only_users_of_scim_can_be_members(scim):
    service = make_principal(name="robot")

    for member in (str(service.id), str(uuid4()), "no id"):
        assert scim.group("ml", member, status=400)["scimType"] == "invalidValue"

    assert not Team.objects.filter(slug="ml").exists()


def test_a_thousand_users_are_paged_with_few_queries(scim):
    people = Principal.objects.bulk_create(
        [Principal(name=f"p{number:04}", kind=PrincipalKind.PERSON) for number in range(1000)]
    )
    ScimUser.objects.bulk_create([ScimUser(principal=person, user_name=person.name) for person in people])
    names: list[str] = []
    with CaptureQueriesContext(connection) as queries:
        while len(names) < 1000:
            page = scim("GET", f"Users?startIndex={len(names) + 1}&count=500")
            assert (page["totalResults"], page["startIndex"]) == (1000, len(names) + 1)
            assert page["itemsPerPage"] == len(page["Resources"]) == 200
            names += [user["userName"] for user in page["Resources"]]

    assert sorted(names) == [person.name for person in people]
    assert len(queries) <= 5 * 12
    assert scim("GET", "Users?startIndex=1001")["itemsPerPage"] == 0
    assert scim("GET", "Users?count=0") == {
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        "totalResults": 1000,
        "startIndex": 1,
        "itemsPerPage": 0,
        "Resources": [],
    }


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ('filter=userName eq "ANN"', 1),
        ('filter=displayName eq "Ann Ames"', 1),
        ('filter=externalId eq "e1"', 1),
        ('filter=emails.value eq "ann@x.com"', 1),
        ('filter=userName eq "ann" and externalId eq "e1"', 1),
        ('filter=userName eq "ann" and externalId eq "e2"', 0),
        ('filter=externalId eq "E1"', 0),
        ('filter=id eq "nothing"', 0),
        ("filter=active eq false", 0),
        ("startIndex=0&count=-1", 1),
    ],
)
def test_filters_and_odd_pages(scim, query, count):
    scim.user("ann", displayName="Ann Ames", externalId="e1", emails=[{"value": "ann@x.com"}])

    assert scim("GET", f"Users?{query}")["totalResults"] == count


@pytest.mark.parametrize(
    "text",
    [
        'userName sw "a"',
        'userName eq "a" or userName eq "b"',
        "userName pr",
        "userName eq",
        "((",
        "x" * 1001,
        'nickName eq "a"',
    ],
)
def test_other_filters_are_refused(scim, text):
    refused = scim("GET", f"Users?filter={text}", status=400)

    assert refused["scimType"] == "invalidFilter"


def test_a_client_chooses_the_attributes(scim):
    user = scim.user("ann", displayName="Ann")

    shown = scim("GET", f"Users/{user['id']}?attributes=userName")

    assert sorted(shown) == ["id", "schemas", "userName"]


def test_discovery_names_what_is_supported(scim):
    configuration = scim("GET", "ServiceProviderConfig")
    assert configuration["patch"]["supported"] is True
    assert configuration["filter"] == {"supported": True, "maxResults": 200}
    assert configuration["bulk"]["supported"] is False
    assert [item["id"] for item in scim("GET", "ResourceTypes")["Resources"]] == ["User", "Group"]
    schemas = scim("GET", "Schemas")["Resources"]
    assert scim("GET", f"Schemas/{schemas[0]['id']}")["name"] == "User"
    assert scim("GET", "ResourceTypes/Robot", status=404)["status"] == "404"


def test_a_token_needs_the_scope_and_its_principal_the_role(scim):
    admin = Principal.objects.get(name="okta")

    for token, status in (
        ("", 401),
        ("cp_pat_wrong", 401),
        (scim_token(admin, "all"), 403),
        (scim_token(admin, "read"), 403),
        (scim_token(make_principal("editor")), 403),
    ):
        assert ScimClient(token)("GET", "Users", status=status)["status"] == str(status)
    # And it is good for nothing else.
    api = Api(scim.token)
    assert api.get("principals").status_code == 403
    assert api.post("tokens", {"name": "x"}).status_code == 403


def test_it_is_off_by_default(scim, settings):
    settings.SCIM = False

    assert Api(scim.token).get("/scim/v2/Users").status_code == 404


def test_a_method_that_is_not_supported_and_an_unknown_path(scim):
    assert scim("DELETE", "Users", status=405)["status"] == "405"
    assert Api(scim.token).get("/scim/v2/Robots").status_code == 404


def test_the_command_makes_a_token_for_scim_alone(scim):
    output = StringIO()
    call_command("scim_token", "--principal", "okta", "--days", "30", stdout=output)
    secret = output.getvalue().split()[-1]

    assert ScimClient(secret)("GET", "Users")["totalResults"] == 0
    make_principal("editor", name="ed")
    for arguments, message in (
        (("--principal", "nobody"), "does not exist"),
        (("--principal", "ed"), "lacks a permission"),
        (("--principal", "okta", "--days", "9999"), "TOKEN_MAX_DAYS"),
    ):
        with pytest.raises(CommandError, match=message):
            call_command("scim_token", *arguments)


def test_a_group_that_is_not_of_scim_is_not_visible(scim):
    team = create_team("ml", actor=ACTOR)

    scim("GET", f"Groups/{team.id}", status=404)
    scim("DELETE", f"Groups/{team.id}", status=404)

    assert not ScimGroup.objects.exists()
