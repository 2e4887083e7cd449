"""Users by SCIM: people are created, changed and deactivated, and keep their identity."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.access import principals
from controlplane.access.login.oidc.models import Identity
from controlplane.access.models import AuditRecord, Principal, PrincipalKind, Session, Token
from controlplane.access.scim.models import ScimUser
from controlplane.identity.roles import Role
from tests.api.access.scim.conftest import ISSUER, ScimClient, scim_token
from tests.support.api_client import ACTOR, Api, logged_in, make_principal


def test_a_user_becomes_a_person_who_can_log_in_with_the_account(scim):
    user = scim.user(
        "ann@corp.example",
        externalId="00u1",
        name={"givenName": "Ann", "familyName": "Ames"},
        emails=[{"value": "ann@corp.example", "type": "work", "primary": True}],
        password="never stored",
    )

    person = Principal.objects.get(id=user["id"])
    assert (person.name, person.kind, person.is_active) == ("ann@corp.example", PrincipalKind.PERSON, True)
    assert (person.display_name, person.email) == ("Ann Ames", "ann@corp.example")
    assert Identity.objects.get(principal=person).subject == "00u1"
    assert user["meta"]["location"] == f"https://cp.example.com/scim/v2/Users/{user['id']}"
    assert user["meta"]["resourceType"] == "User"
    assert scim("GET", f"Users/{user['id']}") == user
    assert "never stored" not in str(ScimUser.objects.values())
    assert not person.has_usable_password()


def test_a_person_who_logged_in_before_keeps_the_account(scim):
    person = principals.create_principal("ann", kind=PrincipalKind.PERSON, actor=ACTOR)
    Identity.objects.create(principal=person, issuer=ISSUER, subject="00u1")

    user = scim.user("ann@corp.example", externalId="00u1")

    assert user["id"] == str(person.id)


def test_nobody_is_found_by_name_or_email(scim):
    logged_in("ann", Role.ADMIN)
    Principal.objects.filter(name="ann").update(email="ann@corp.example")

    user = scim.user("ann", emails=[{"value": "ann@corp.example"}])

    assert Principal.objects.get(id=user["id"]).name == "ann-2"


def test_a_user_name_is_unique_in_any_case(scim):
    scim.user("Ann")

    refused = scim("POST", "Users", {"userName": "aNN"}, 409)

    assert (refused["scimType"], refused["status"]) == ("uniqueness", "409")
    assert Principal.objects.filter(name__istartswith="ann").count() == 1


def test_an_identity_of_somebody_else_cannot_be_taken(scim):
    first, second = scim.user("ann", externalId="1"), scim.user("bob", externalId="2")

    scim.patch(f"Users/{second['id']}", {"op": "replace", "path": "externalId", "value": "1"}, status=409)

    assert Identity.objects.get(subject="1").principal_id == Principal.objects.get(id=first["id"]).id
    assert Identity.objects.filter(subject="2").exists()


@pytest.mark.parametrize("value", [False, "False", "false"])
def test_deactivation_ends_sessions_and_tokens_at_once_and_for_good(scim, value):
    user = scim.user("ann")
    person = Principal.objects.get(id=user["id"])
    _, secret = principals.create_token(person, name="cli", expires_at=None, actor=ACTOR)
    browser = Client()
    browser.force_login(person)
    assert browser.get("/sessions").status_code == 200

    changed = scim.patch(f"Users/{user['id']}", {"op": "Replace", "path": "active", "value": value})

    assert changed["active"] is False
    assert browser.get("/sessions").status_code == 302
    assert Api(secret).get("me").status_code == 401
    scim.patch(f"Users/{user['id']}", {"op": "replace", "value": {"active": True}})
    assert Principal.objects.get(id=user["id"]).is_active
    assert Token.objects.get(principal=person).revoked_at is not None
    assert not Session.objects.filter(principal=person).exists()
    assert Api(secret).get("me").status_code == 401


def test_delete_deactivates_and_the_same_user_can_come_back(scim):
    user = scim.user("ann", externalId="1")
    scim.group("ml", user["id"])

    scim("DELETE", f"Users/{user['id']}", status=204)

    assert scim("GET", f"Users/{user['id']}", status=404)["status"] == "404"
    person = Principal.objects.get(id=user["id"])
    assert not person.is_active
    assert not person.memberships.exists()
    assert scim("GET", 'Users?filter=userName eq "ann"')["totalResults"] == 0
    again = scim.user("ann", externalId="1")
    assert again["id"] == user["id"]
    assert Principal.objects.get(id=user["id"]).is_active


def test_the_last_administrator_cannot_be_deactivated(scim):
    user = scim.user("ann")
    Principal.objects.filter(name="okta").update(is_active=True)
    person = Principal.objects.get(id=user["id"])
    api = Api(scim_token(Principal.objects.get(name="okta"), "all"))
    api.post("role-bindings", {"principal": person.name, "role": "admin", "scope": {}})
    binding = Principal.objects.get(name="okta").role_bindings.get()
    other = ScimClient(scim_token(person))
    api.delete(f"role-bindings/{binding.id}")

    refused = other.patch(
        f"Users/{user['id']}", {"op": "replace", "path": "active", "value": False}, status=409
    )

    assert "last administrator" in refused["detail"]
    assert Principal.objects.get(id=user["id"]).is_active


def test_put_replaces_what_is_known_and_the_name_here_stays(scim):
    user = scim.user("ann", displayName="Ann", nickName="A")

    changed = scim("PUT", f"Users/{user['id']}", {"userName": "ann.new", "displayName": "Ann New"})

    assert (changed["userName"], changed["displayName"], changed.get("nickName")) == (
        "ann.new",
        "Ann New",
        None,
    )
    assert changed["meta"]["version"] == 'W/"2"'
    assert Principal.objects.get(id=user["id"]).name == "ann"


def test_a_change_without_effect_is_not_recorded(scim):
    user = scim.user("ann", displayName="Ann")
    before = AuditRecord.objects.count()

    scim.patch(f"Users/{user['id']}", {"op": "replace", "path": "displayName", "value": "Ann"})

    assert AuditRecord.objects.count() == before


def test_changes_are_recorded_with_their_actor(scim):
    user = scim.user("ann")
    scim.patch(f"Users/{user['id']}", {"op": "replace", "path": "displayName", "value": "Ann"})

    records = AuditRecord.objects.filter(action="principal.provisioned").order_by("id")
    assert [record.actor for record in records] == ["okta", "okta"]
    assert records[1].before["display_name"] == ""
    assert records[1].after["display_name"] == "Ann"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "userName"),
        ({"userName": " "}, "userName"),
        ({"userName": "x" * 256}, "userName"),
        ({"userName": 7}, "userName"),
        ({"userName": "ann", "emails": [{"value": "not an address"}]}, "email"),
        ([], ""),
        ("text", ""),
    ],
)
def test_a_malformed_user_is_refused(scim, body, detail):
    refused = scim("POST", "Users", body, 400)

    assert detail in refused["detail"]
    assert refused["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    assert not ScimUser.objects.exists()


def test_without_an_issuer_no_identity_is_linked(scim, settings):
    settings.SCIM_ISSUER = ""

    scim.user("ann", externalId="1")

    assert not Identity.objects.exists()


def test_a_principal_that_scim_did_not_send_is_not_visible(scim):
    service = make_principal("viewer", name="ci")

    scim("GET", f"Users/{service.id}", status=404)
    scim.patch(f"Users/{service.id}", {"op": "replace", "path": "active", "value": False}, status=404)

    assert scim("GET", "Users")["totalResults"] == 0
    assert Principal.objects.get(id=service.id).is_active


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"Operations": []},
        {"Operations": [{"op": "explode"}]},
        {"Operations": [{"op": "replace", "path": "userName", "value": ""}]},
        {"Operations": [{"op": "replace", "path": "active", "value": "maybe"}]},
        {"Operations": "all"},
    ],
)
def test_a_malformed_patch_is_refused(scim, body):
    user = scim.user("ann")

    scim("PATCH", f"Users/{user['id']}", body, 400)

    assert scim("GET", f"Users/{user['id']}") == user
