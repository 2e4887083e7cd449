"""Conversations as Okta and Entra ID hold them: their requests as recorded in their documentation."""

from __future__ import annotations

from controlplane.access.login.oidc.models import Identity
from controlplane.access.models import Principal
from controlplane.access.team_models import Membership, Team

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
# A filter that Entra ID sends as its test of the connection.
UNKNOWN_USER = 'Users?filter=userName+eq+"b9a50e4e-d1cc-47d2-ad01-7ec5e6b2d3a4"'


def members_of(slug: str) -> list[str]:
    rows = Membership.objects.filter(team__slug=slug, via="scim").order_by("principal__name")
    return list(rows.values_list("principal__name", flat=True))


def test_okta_provisions_changes_and_suspends_a_user(scim):
    assert scim("GET", "Users?filter=userName%20eq%20%22ann%40corp.example%22&startIndex=1&count=100") == {
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        "totalResults": 0,
        "startIndex": 1,
        "itemsPerPage": 0,
        "Resources": [],
    }
    body = {
        "schemas": [USER],
        "userName": "ann@corp.example",
        "name": {"givenName": "Ann", "familyName": "Ames"},
        "emails": [{"primary": True, "value": "ann@corp.example", "type": "work"}],
        "displayName": "Ann Ames",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": True,
    }
    user = scim("POST", "Users", body, 201)
    assert user["locale"] == "en-US"
    assert "password" not in user
    path = f"Users/{user['id']}"

    # Okta reads the user, and replaces it as a whole.
    whole = scim("GET", path)
    changed = scim("PUT", path, {**whole, "displayName": "Ann Adams"})
    assert changed["displayName"] == "Ann Adams"
    assert Principal.objects.get(id=user["id"]).display_name == "Ann Adams"

    # Deactivation by PATCH without a path.
    off = scim.patch(path, {"op": "replace", "value": {"active": False}})
    assert off["active"] is False
    assert not Principal.objects.get(id=user["id"]).is_active
    assert scim.patch(path, {"op": "replace", "value": {"active": True}})["active"] is True
    assert (
        Identity.objects.get(subject="00ujl29u0le5T6Aj10h7").principal_id
        == Principal.objects.get(name="ann@corp.example").id
    )


def test_okta_pushes_a_group(scim):
    ann, bob = scim.user("ann"), scim.user("bob")
    assert scim("GET", 'Groups?filter=displayName eq "ML Platform"')["totalResults"] == 0

    group = scim("POST", "Groups", {"schemas": [GROUP], "displayName": "ML Platform", "members": []}, 201)
    path = f"Groups/{group['id']}"
    members = [{"value": ann["id"], "display": "ann"}, {"value": bob["id"], "display": "bob"}]
    scim.patch(path, {"op": "add", "path": "members", "value": members})
    assert members_of("ml-platform") == ["ann", "bob"]

    scim.patch(path, {"op": "remove", "path": f'members[value eq "{ann["id"]}"]'})
    assert members_of("ml-platform") == ["bob"]

    # A rename: without a path, and with the id in the value.
    renamed = scim.patch(path, {"op": "replace", "value": {"id": group["id"], "displayName": "ML"}})
    assert renamed["displayName"] == "ML"
    team = Team.objects.get(id=group["id"])
    assert (team.slug, team.title, team.external_group) == ("ml-platform", "ML", "ML")

    whole = scim("PUT", path, {"schemas": [GROUP], "displayName": "ML", "members": [members[0]]})
    assert [member["value"] for member in whole["members"]] == [ann["id"]]

    scim("DELETE", path, status=204)
    assert members_of("ml-platform") == []
    assert Team.objects.filter(slug="ml-platform").exists()


def test_entra_id_provisions_changes_and_disables_a_user(scim):
    assert scim("GET", UNKNOWN_USER)["totalResults"] == 0
    body = {
        "schemas": [USER, ENTERPRISE],
        "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
        "userName": "Test_User_ab6490ee",
        "active": True,
        "emails": [{"primary": True, "type": "work", "value": "Test_User_fd0ea19b@testuser.com"}],
        "meta": {"resourceType": "User"},
        "name": {"formatted": "givenName familyName", "familyName": "familyName", "givenName": "givenName"},
        "roles": [],
        ENTERPRISE: {"department": "ML", "manager": {"value": "boss"}},
    }
    user = scim("POST", "Users", body, 201)
    path = f"Users/{user['id']}"
    assert user[ENTERPRISE]["department"] == "ML"
    assert (
        scim("GET", 'Users?filter=externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"')["totalResults"] == 1
    )

    changed = scim.patch(
        path,
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "updated@testuser.com"},
        {"op": "Replace", "path": "name.familyName", "value": "updatedFamilyName"},
        {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Data"},
        {"op": "Add", "path": f"{ENTERPRISE}:manager", "value": "a0b1"},
        {"op": "Add", "path": 'phoneNumbers[type eq "mobile"].value', "value": "+4912345"},
    )
    assert changed["emails"][0]["value"] == "updated@testuser.com"
    assert changed["name"]["familyName"] == "updatedFamilyName"
    assert changed[ENTERPRISE]["department"] == "Data"
    assert Principal.objects.get(id=user["id"]).email == "updated@testuser.com"

    manager = {"op": "Add", "path": f"{ENTERPRISE}:manager", "value": "a0b1"}
    assert scim.patch(path, manager)["meta"]["version"] == changed["meta"]["version"]
    assert scim.patch(path, {"op": "Replace", "path": "active", "value": "False"})["active"] is False
    assert not Principal.objects.get(id=user["id"]).is_active
    assert scim("GET", 'Users?filter=userName eq "TEST_USER_AB6490EE"')["Resources"][0]["active"] is False
    scim("DELETE", path, status=204)


def test_entra_id_pushes_a_group(scim):
    ann = scim.user("ann")
    body = {
        "schemas": [GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
        "externalId": "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
        "displayName": "displayName",
        "meta": {"resourceType": "Group"},
    }
    group = scim("POST", "Groups", body, 201)
    path = f"Groups/{group['id']}"
    assert "members" not in scim("GET", f"{path}?excludedAttributes=members")
    listed = scim("GET", 'Groups?excludedAttributes=members&filter=displayName eq "displayName"')
    assert listed["Resources"][0]["id"] == group["id"]

    value = [{"$ref": None, "value": ann["id"]}]
    scim.patch(path, {"op": "Add", "path": "members", "value": value})
    assert members_of("displayname") == ["ann"]
    scim.patch(
        path, {"op": "Replace", "path": "displayName", "value": "1879db59-3bdf-4490-ad68-ab880a269474"}
    )

    # A question about one member, and its removal by a value instead of a path.
    query = f'Groups?excludedAttributes=members&filter=id eq "{group["id"]}" and members eq "{ann["id"]}"'
    assert scim("GET", query)["totalResults"] == 1
    scim.patch(path, {"op": "Remove", "path": "members", "value": value})
    assert scim("GET", query)["totalResults"] == 0
    assert members_of("displayname") == []
    scim("DELETE", path, status=204)


def test_members_are_removed_from_all_groups_by_an_empty_replace(scim):
    ann = scim.user("ann")
    group = scim.group("ml", ann["id"])

    assert [entry["display"] for entry in scim("GET", f"Users/{ann['id']}")["groups"]] == ["ml"]
    scim.patch(f"Groups/{group['id']}", {"op": "remove", "path": "members"})

    assert members_of("ml") == []
    assert "groups" not in scim("GET", f"Users/{ann['id']}")
