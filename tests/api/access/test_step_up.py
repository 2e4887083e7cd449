"""Recent logins for sensitive actions: in the API, in the console, and never for machine tokens."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from controlplane.access import principals
from controlplane.access.models import AuditRecord, Principal, RoleBinding, Session, Token
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, Api, logged_in, make_principal, make_project

PASSWORD = "a long enough passphrase"
ROLE = {"principal": "ci", "role": "viewer", "scope": {}}
pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    client = logged_in("ann", Role.ADMIN)
    person = Principal.objects.get(name="ann")
    person.set_password(PASSWORD)
    person.save()
    client.force_login(person)
    make_principal(name="ci")
    return client


def age(minutes: float = 16) -> None:
    """Make every session and login this much older."""
    Session.objects.update(created_at=timezone.now() - timedelta(minutes=minutes))


def grant(browser: Client):
    return browser.post("/api/v1/role-bindings", ROLE, content_type="application/json")


def test_the_api_refuses_with_a_challenge_and_changes_nothing(browser):
    age()

    refused = grant(browser)

    assert refused.status_code == 401
    assert refused.json()["code"] == "insufficient_user_authentication"
    assert (refused.json()["max_age"], refused.json()["acr_values"]) == (900, [])
    assert 'error="insufficient_user_authentication"' in refused["WWW-Authenticate"]
    assert 'max_age="900"' in refused["WWW-Authenticate"]
    assert not RoleBinding.objects.filter(principal__name="ci").exists()


def test_a_recent_login_is_enough_and_reading_needs_none(browser):
    assert grant(browser).status_code == 201
    age()
    assert browser.get("/api/v1/role-bindings").status_code == 200
    assert browser.get("/role-bindings").status_code == 200


def test_it_can_be_turned_off(browser, settings):
    settings.STEP_UP_MINUTES = 0
    age()

    assert grant(browser).status_code == 201


def test_machine_tokens_are_exempt_and_tokens_of_an_interactive_login_are_not(browser):
    _, secret = principals.create_token(
        Principal.objects.get(name="ann"), name="cli", expires_at=None, actor=ACTOR
    )
    api = Api(secret)
    assert api.post("role-bindings", ROLE).status_code == 201

    Token.objects.update(auth_time=timezone.now() - timedelta(minutes=16))
    refused = api.post("role-bindings", {**ROLE, "role": "editor"})
    Token.objects.update(auth_time=timezone.now())
    allowed = api.post("role-bindings", {**ROLE, "role": "editor"})

    assert refused.status_code == 401
    assert allowed.status_code == 201


def test_protected_scopes_and_many_objects_need_a_recent_login(browser, settings):
    make_project("p")
    settings.PROTECTED_SCOPES = [Scope(domain="production")]
    age()
    attributes = {"attributes": {"attributes": {"a": "1"}}}

    def put(domain: str):
        path = f"/api/v1/overrides/cluster_resource?project=p&domain={domain}"
        return browser.put(path, attributes, content_type="application/json")

    assert put("development").status_code in (200, 201), put("development").json()
    assert put("production").status_code == 401

    few, many = (apply(browser, count) for count in (100, 101))
    assert few.status_code == 200, few.json()
    assert many.json()["code"] == "insufficient_user_authentication"


def apply(browser: Client, count: int):
    """Apply as many documents."""
    place = {"kind": "overrides", "project": "p", "domain": "development"}
    spec = {"taskResources": {"limits": {"cpu": "1"}}}
    documents = [{**place, "workflow": f"w{number}", "spec": spec} for number in range(count)]
    path = "/api/v1/overrides:apply?managed_by=team"
    return browser.post(path, {"documents": documents}, content_type="application/json")


def test_a_page_leads_to_the_confirmation_and_back(browser):
    binding = RoleBinding.objects.get(principal__name="ann")
    path = f"/role-bindings/{binding.id}/remove"
    age()

    asked = browser.get(path)
    wrong = browser.post(asked.url, {"password": "wrong", "next": path})
    confirmed = browser.post(asked.url, {"password": PASSWORD, "next": path})

    assert asked.status_code == 302
    assert asked.url == f"/login/step-up?next={path.replace('/', '%2F')}"
    assert "Password of ann" in browser.get(asked.url).content.decode()
    assert wrong.status_code == 400
    assert "incorrect" in wrong.content.decode()
    assert (confirmed.status_code, confirmed.url) == (302, path)
    assert browser.get(path).status_code == 200
    assert grant(browser).status_code == 201
    assert list(AuditRecord.objects.filter(action="access.step_up").values_list("actor", flat=True)) == [
        "ann"
    ]


def test_a_submitted_form_is_refused_before_it_changes_anything(browser):
    age()

    refused = browser.post("/role-bindings", {"holder": "ci", "role": "viewer"})

    assert refused.status_code == 401
    assert "Nothing was changed" in refused.content.decode()
    assert not RoleBinding.objects.filter(principal__name="ci").exists()


def test_a_part_of_a_page_sends_the_whole_page_to_the_confirmation(browser):
    age()
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/role-bindings?principal=ci"}

    refused = browser.post("/role-bindings", {"holder": "ci", "role": "viewer"}, headers=headers)

    assert refused.status_code == 401
    assert refused["HX-Redirect"] == "/login/step-up?next=%2Frole-bindings%3Fprincipal%3Dci"


def test_the_confirmation_rotates_the_key_and_never_leaves_this_server(browser):
    age()
    before = browser.cookies["cp-session"].value

    left = browser.post("/login/step-up", {"password": PASSWORD, "next": "//evil.example/x"})

    assert left.url == "/"
    assert browser.cookies["cp-session"].value != before


def test_guessed_passwords_are_limited(browser):
    answers = [
        browser.post("/login/step-up", {"password": f"guess {n}", "next": "/"}).status_code for n in range(11)
    ]

    assert answers == [400] * 10 + [429]


def test_somebody_who_is_logged_out_goes_to_the_login(db):
    assert Client().get("/login/step-up?next=/agents").url == "/login?next=%2Fagents"


def test_changes_record_the_session_or_token(browser):
    grant(browser)

    record = AuditRecord.objects.filter(action="role.bound").latest("id")
    assert record.session_hint == f"session {Session.objects.get(principal__name='ann').id}"
