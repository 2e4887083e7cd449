"""The login page: providers, passwords, redirects, and what happens when a provider is down."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client

from controlplane.access import principals, role_bindings
from controlplane.access.issuers.documents import DOCUMENTS
from controlplane.access.models import AuditRecord, Principal, PrincipalKind, Session
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, token_for
from tests.support.logins import provider_settings

PASSWORD = "correct horse battery"


def make_person(name, role=None):
    person = principals.create_principal(name, kind=PrincipalKind.PERSON, password=PASSWORD, actor=ACTOR)
    if role:
        role_bindings.bind_role(person, role, Scope(), actor=ACTOR)
    return person


def log_in(name, path="/login/local", **query):
    return Client().post(path, {"username": name, "password": PASSWORD}, query_params=query)


def test_without_a_provider_the_page_is_the_password_form(db):
    make_person("jane")

    assert 'type="password"' in Client().get("/login").content.decode()
    assert log_in("jane", "/login").status_code == 302
    assert log_in("jane").status_code == 302


@pytest.mark.parametrize("mode", ["admins", "off"])
def test_without_a_provider_everyone_with_a_password_logs_in(db, settings, mode):
    settings.LOCAL_LOGIN = mode
    make_person("jane")

    assert log_in("jane").status_code == 302


def test_with_a_provider_the_page_lists_it_and_the_password_form(configure):
    page = Client().get("/login?redirect_url=/agents").content.decode()

    assert "Log in with Test login" in page
    assert "idp=idp" in page
    assert "redirect_url=%2Fagents" in page
    assert "/login/local?next=%2Fagents" in page
    assert "administrators only" in page


def test_only_administrators_use_a_password_once_a_provider_exists(configure):
    make_person("jane", Role.EDITOR)
    make_person("root-admin", Role.ADMIN)

    refused = log_in("jane")
    assert refused.status_code == 422
    assert "Incorrect name or password" in refused.content.decode()
    assert log_in("root-admin").status_code == 302


def test_all_people_can_be_allowed_to_use_a_password(configure, settings):
    settings.LOCAL_LOGIN = "all"
    make_person("jane")

    assert log_in("jane").status_code == 302


def test_without_local_login_the_only_provider_is_asked_at_once(configure, settings, identity_provider):
    settings.LOCAL_LOGIN = "off"
    make_person("root-admin", Role.ADMIN)

    assert Client().get("/login")["Location"].startswith(f"{identity_provider.issuer}/auth?")
    assert Client().get("/login/local")["Location"] == "/login"
    assert log_in("root-admin")["Location"] == "/login"
    assert Session.objects.count() == 0


def test_without_local_login_several_providers_are_listed(configure, settings, identity_provider):
    settings.LOCAL_LOGIN = "off"
    settings.IDENTITY_PROVIDERS = [
        provider_settings(identity_provider),
        provider_settings(identity_provider, slug="guests", title="Guests"),
    ]

    page = Client().get("/login").content.decode()

    assert "Log in with Guests" in page
    assert "password" not in page


@pytest.mark.parametrize("path", ["/login", "/login/local", "/logout"])
@pytest.mark.parametrize("url", ["//evil.example", "https://evil.example/", "/\\evil.example"])
def test_a_foreign_redirect_is_refused(configure, path, url):
    response = Client().get(path, {"redirect_url": url})

    assert response.status_code == 403
    assert "Redirect not allowed" in response.content.decode()


def test_an_allowed_origin_is_accepted(person, settings):
    settings.LOGIN_REDIRECT_ORIGINS = frozenset({"https://flyte.example.com"})

    response = person.log_in("/login?idp=idp&redirect_url=https://flyte.example.com/console")

    assert response["Location"] == "https://flyte.example.com/console"


def test_a_password_login_returns_to_the_page_and_never_to_another_site(db):
    make_person("jane")

    assert log_in("jane", next="/agents")["Location"] == "/agents"
    assert log_in("jane", next="https://evil.example")["Location"] == "/"


def test_an_unknown_provider_is_not_found(configure):
    assert Client().get("/login?idp=nowhere").status_code == 404


def test_a_provider_that_is_down_is_named_and_passwords_still_work(configure, settings):
    configure(issuer="http://127.0.0.1:9", title="Broken login")
    DOCUMENTS.clear()
    make_person("root-admin", Role.ADMIN)

    response = Client().get("/login?idp=idp", headers={"X-Request-ID": "r-17"})

    assert response.status_code == 503
    page = response.content.decode()
    assert "Broken login cannot be reached" in page
    assert "r-17" in page
    assert "/login/local" in page
    assert log_in("root-admin").status_code == 302


def test_logins_and_failures_are_recorded_without_passwords(db):
    make_person("jane")
    log_in("jane")
    Client().post("/login", {"username": "jane", "password": "a wrong password"})
    Client().post("/login", {"username": "a mistyped secret", "password": ""})
    Client().post("/login", {"username": "another mistyped secret", "password": "x"})

    failures = list(Event.objects.filter(type="login.failed").order_by("position"))
    assert [failure.data["name"] for failure in failures] == ["jane", "", ""]
    (success,) = AuditRecord.objects.filter(action="login.succeeded")
    assert success.object_id == "jane"
    everything = str(list(AuditRecord.objects.values())) + str([failure.data for failure in failures])
    assert "mistyped" not in everything
    assert "wrong password" not in everything


def test_a_session_ends_when_it_is_idle_and_when_it_is_old(db, settings):
    person = make_person("jane")
    browser = Client()
    browser.post("/login", {"username": "jane", "password": PASSWORD})
    assert browser.get("/sessions").status_code == 200

    set_column("last_used_at", "61 minutes")
    assert browser.get("/sessions").status_code == 302

    browser.post("/login", {"username": "jane", "password": PASSWORD})
    session = Session.objects.get(principal=person)
    assert (session.expires_at - session.auth_time).total_seconds() == pytest.approx(12 * 3600, abs=2)
    set_column("expires_at", "1 second")
    assert browser.get("/sessions").status_code == 302


@pytest.mark.parametrize(
    ("path", "headers", "counts"),
    [("/sessions", {}, True), ("/sessions", {"HX-Request": "true"}, False), ("/api/v1/events", {}, False)],
)
def test_what_an_open_page_requests_by_itself_is_no_use_of_the_session(db, path, headers, counts):
    make_person("jane", Role.VIEWER)
    browser = Client()
    browser.post("/login", {"username": "jane", "password": PASSWORD})
    set_column("last_used_at", "10 minutes")
    before = Session.objects.get().last_used_at

    assert browser.get(path, headers=headers).status_code == 200

    assert (Session.objects.get().last_used_at > before) is counts


def test_an_ended_session_ends_what_its_person_follows_and_an_expired_one_does_not(db):
    make_person("jane")
    browser = Client()
    browser.post("/login", {"username": "jane", "password": PASSWORD})
    before = epoch()

    browser.get("/logout")
    ended = epoch()
    assert ended != before

    browser.post("/login", {"username": "jane", "password": PASSWORD})
    set_column("expires_at", "1 second")
    Session.objects.all().delete()
    assert epoch() == ended


def epoch():
    with connection.cursor() as cursor:
        cursor.execute("SELECT epoch FROM access_epoch")
        return cursor.fetchone()[0]


def test_use_does_not_extend_the_longest_life_of_a_session(db):
    make_person("jane")
    browser = Client()
    browser.post("/login", {"username": "jane", "password": PASSWORD})
    expires_at = Session.objects.get().expires_at

    change = {"current_password": PASSWORD, "new_password": f"{PASSWORD} 2", "repeated": f"{PASSWORD} 2"}
    assert browser.post("/account/password", change).status_code == 302

    assert Session.objects.get().expires_at == expires_at


def set_column(name, age):
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE access_session SET {name} = now() - interval '{age}'")


def test_flyte_clients_learn_who_is_logged_in(person):
    assert person.console.get("/me").json() == {}
    person.log_in()

    response = person.console.get("/me")

    assert response["X-User-Subject"] == person.account
    assert response.json()["preferredUsername"] == person.account
    assert response.json()["email"] == f"{person.account}@example.com"


@pytest.mark.parametrize("header", ["Authorization", "Flyte-Authorization"])
def test_me_accepts_a_token(db, header):
    response = Client().get("/me", headers={header: f"Bearer {token_for('viewer')}"})

    assert response.json()["subject"] == Principal.objects.get().name
    assert Client().get("/me", headers={header: "Bearer nonsense"}).json() == {}
