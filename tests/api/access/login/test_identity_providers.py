"""The API of identity providers and identities."""

from __future__ import annotations

import html

import pytest
from django.db import connection
from django.test import Client

from controlplane.access import principals
from controlplane.access.login.oidc.models import Identity, IdentityProvider
from controlplane.access.models import AuditRecord, Principal, Session
from tests.support.api_client import ACTOR, Api, token_for
from tests.support.identity_provider import CLIENT, secret_of
from tests.support.logins import PUBLIC_URL, Person

BODY = {"issuer": "https://login.example.com/realms/work", "client_id": "cp", "client_secret": "s3cret-value"}
RULES = [{"value": "cp-ml-*", "team": "ml", "role": "editor", "scope": {"project": "ml-*"}}]
PATH = "identity-providers/work"


def test_a_provider_is_created_read_changed_and_deleted(api):
    created = api.put(PATH, {**BODY, "rules": RULES})
    assert (created.status_code, created["ETag"]) == (201, '"v1"')
    assert created.json()["rules"] == [{"claim": "groups", **RULES[0]}]

    assert api.put(PATH, BODY).status_code == 428
    assert api.put(PATH, BODY, If_Match='"v7"').status_code == 412
    changed = api.put(PATH, {**BODY, "title": "Work"}, If_Match='"v1"')
    assert (changed.status_code, changed["ETag"]) == (200, '"v2"')

    assert [item["slug"] for item in api.get("identity-providers").json()["items"]] == ["work"]
    assert api.get(PATH, If_None_Match='"v2"').status_code == 304
    assert api.delete(PATH, If_Match='"v2"').status_code == 204
    assert api.get(PATH).json()["code"] == "unknown_identity_provider"
    actions = AuditRecord.objects.filter(object_type="identity_provider").order_by("id")
    assert [record.action.partition(".")[2] for record in actions] == ["created", "changed", "deleted"]


def test_the_secret_is_sealed_and_never_returned(api):
    response = api.put(PATH, BODY)

    with connection.cursor() as cursor:
        cursor.execute("SELECT access_identityprovider::text FROM access_identityprovider")
        (row,) = cursor.fetchone()
    audit = str(list(AuditRecord.objects.values("before", "after")))
    for text in (row, audit, response.content.decode(), api.get(PATH).content.decode()):
        assert "s3cret" not in text


def test_an_omitted_secret_stays_and_an_empty_one_is_removed(api):
    api.put(PATH, BODY)
    sealed = IdentityProvider.objects.get().secret
    unchanged = {name: value for name, value in BODY.items() if name != "client_secret"}

    api.put(PATH, unchanged, If_Match="*")
    assert IdentityProvider.objects.get().secret == sealed

    api.put(PATH, {**unchanged, "client_secret": ""}, If_Match="*")
    assert IdentityProvider.objects.get().secret == ""


def test_a_dry_run_changes_nothing(api):
    assert api.put(f"{PATH}?dry_run=true", BODY).status_code == 201
    assert IdentityProvider.objects.count() == 0


@pytest.mark.parametrize(
    ("change", "status", "pointer"),
    [
        ({"issuer": "http://login.example.com"}, 422, "/issuer"),
        ({"rules": [{"value": "a*b", "role": "viewer"}]}, 422, "/rules/0/value"),
        ({"rules": [{"value": "a", "role": "viewer", "scope": {"project": "*"}}]}, 422, "/rules/0/scope"),
        ({"issuer": 5}, 400, "/issuer"),
        ({"unknown": 5}, 400, "/unknown"),
        ({"rules": [{"value": "a", "team": 5}]}, 400, "/rules/0/team"),
        ({"rules": "x"}, 400, "/rules"),
        ({"authoritative": "yes"}, 400, "/authoritative"),
        ({"kind": "other"}, 400, "/kind"),
        ({"scopes": [None]}, 400, "/scopes/0"),
        ({"client_id": "a\x00b"}, 400, ""),
        ({"client_id": "a\u202eb"}, 400, "/client_id"),
    ],
)
def test_bad_input_is_refused_where_it_is(api, change, status, pointer):
    response = api.put(PATH, {**BODY, **change})

    assert response.status_code == status, response.content
    assert any(error["pointer"].startswith(pointer) for error in response.json()["errors"])
    assert IdentityProvider.objects.count() == 0


def test_without_a_key_file_no_secret_is_stored(api, settings):
    settings.SECRETS_KEY_FILE = ""

    response = api.put(PATH, BODY)

    assert (response.status_code, response.json()["code"]) == (503, "secrets_unavailable")
    assert IdentityProvider.objects.count() == 0


def test_providers_of_the_settings_are_read_only(api, configure):
    listed = api.get("identity-providers").json()["items"]
    assert [(item["slug"], item["configured_in"]) for item in listed] == [("idp", "setting")]

    assert api.put("identity-providers/idp", BODY).json()["code"] == "setting_is_read_only"
    assert api.delete("identity-providers/idp").json()["code"] == "setting_is_read_only"


@pytest.mark.parametrize("role", ["viewer", "editor", "agent"])
def test_only_administrators_see_and_change_providers(api, role):
    api.put(PATH, BODY)
    other = Api(token_for(role))

    assert other.get("identity-providers").status_code == 403
    assert other.put(PATH, BODY).status_code == 403
    assert other.post(f"{PATH}:test", {"claims": {}}).status_code == 403
    assert other.get("identities").status_code == 403


def test_a_test_explains_which_rule_matches_claims(api):
    api.put(PATH, {**BODY, "rules": RULES})

    result = api.post(f"{PATH}:test", {"claims": {"groups": ["cp-ml-vision", "other"]}}).json()

    assert (result["token_is_valid"], result["may_log_in"]) == (None, True)
    (match,) = result["matches"]
    assert (match["rule"], match["value"], match["team"]) == (1, "cp-ml-vision", "ml")
    assert match["role"]["scope"]["project"] == "ml-vision"


def test_a_test_explains_what_is_wrong_with_a_token(api, configure, identity_provider):
    configure(rules=RULES)
    path = "identity-providers/idp:test"

    forged = api.post(path, {"token": "eyJhbGciOiJub25lIn0.eyJncm91cHMiOlsiY3AtbWwteCJdfQ.x"}).json()
    assert (forged["token_is_valid"], forged["may_log_in"]) == (False, False)
    assert "`alg`" in forged["problems"][0]
    assert api.post(path, {}).status_code == 400
    assert api.post(path, {"token": "x", "claims": {}}).status_code == 400


def test_a_test_accepts_a_real_token_and_stores_nothing(api, configure, person):
    configure(rules=RULES)
    person.set_claims(groups=["cp-ml-vision"])
    person.log_in()
    before = AuditRecord.objects.count()
    token = person.console.get("/logout")["Location"].partition("id_token_hint=")[2].partition("&")[0]

    result = api.post("identity-providers/idp:test", {"token": token}).json()

    assert (result["token_is_valid"], result["may_log_in"], result["problems"]) == (True, True, [])
    assert result["matches"][0]["team"] == "ml"
    assert AuditRecord.objects.count() == before + 1  # the logout


def test_people_log_in_at_a_provider_of_the_api(api, settings, identity_provider):
    settings.PUBLIC_URL = PUBLIC_URL
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    body = {"issuer": identity_provider.issuer, "client_id": CLIENT, "client_secret": secret_of(CLIENT)}
    assert api.put(PATH, body).status_code == 201
    ada = Person(identity_provider, "ada-of-the-api")

    assert ada.log_in("/login?idp=work").status_code == 302

    assert ada.is_in
    assert api.delete(PATH, If_Match="*").status_code == 204
    assert not ada.is_in


def test_a_provider_of_the_api_at_a_private_address_must_be_allowed(api, settings, identity_provider):
    settings.PUBLIC_URL = PUBLIC_URL
    api.put(PATH, {"issuer": identity_provider.issuer, "client_id": CLIENT})
    ada = Person(identity_provider, "ada-refused")

    response = ada.console.get("/login?idp=work")

    assert response.status_code == 503
    assert "work cannot be reached" in response.content.decode()


def test_an_administrator_links_an_identity_and_removes_it(api, person, settings):
    settings.JIT = False
    api.post("principals", {"name": "ada", "kind": "person"})
    body = {"principal": "ada", "issuer": person.provider.issuer, "subject": person.account}

    linked = api.post("identities", body)
    assert (linked.status_code, linked.json()["principal"]) == (201, "ada")
    assert api.post("identities", body).json()["code"] == "name_taken"

    assert person.log_in().status_code == 302
    assert Session.objects.get().principal == Principal.objects.get(name="ada")
    assert len(api.get("identities?principal=ada").json()["items"]) == 1
    assert api.delete(f"identities/{linked.json()['id']}").status_code == 204
    assert not person.is_in
    assert person.log_in().status_code == 403


def test_only_people_have_identities(api):
    api.post("principals", {"name": "robot", "kind": "service"})

    response = api.post("identities", {"principal": "robot", "issuer": "https://a.example", "subject": "s"})

    assert (response.status_code, response.json()["code"]) == (403, "login_refused")
    assert api.post("identities", {"principal": "x", "issuer": "i", "subject": "s"}).status_code == 404


def test_a_person_links_an_identity_after_logging_in_at_both(person, settings):
    jane = principals.create_principal("jane", kind="person", actor=ACTOR)
    person.console.force_login(jane)

    begun = person.console.post("/account/identities/link", {"provider": "idp"})
    url = html.unescape(begun.content.decode().partition('content="0;url=')[2].partition('"')[0])
    assert "prompt=login" in url
    assert person.console.get(person.confirm(url)).status_code == 302

    assert Identity.objects.get().principal == jane
    assert AuditRecord.objects.filter(action="identity.linked", actor="jane").exists()


def test_an_identity_of_somebody_else_cannot_be_linked(person):
    person.log_in()
    person.console.get("/logout")
    jane = principals.create_principal("jane", kind="person", actor=ACTOR)
    person.console.force_login(jane)

    begun = person.console.post("/account/identities/link", {"provider": "idp"})
    url = html.unescape(begun.content.decode().partition('content="0;url=')[2].partition('"')[0])
    response = person.console.get(person.confirm(url))

    assert response.status_code == 403
    assert Identity.objects.get().principal.name == person.account


def test_linking_needs_a_login_and_the_token_of_a_form(person):
    assert person.console.post("/account/identities/link", {"provider": "idp"})["Location"].startswith(
        "/login"
    )
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(principals.create_principal("jane", kind="person", actor=ACTOR))
    assert strict.post("/account/identities/link", {"provider": "idp"}).status_code == 403
    assert strict.get("/account/identities/link?provider=idp")["Location"] == "/sessions"


def test_an_unknown_organisation_is_not_found(api):
    response = api.put(PATH, {**BODY, "organisation": "nowhere"})

    assert (response.status_code, response.json()["code"]) == (404, "unknown_organisation")
