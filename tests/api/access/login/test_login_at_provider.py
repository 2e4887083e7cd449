"""Logins at a real OpenID provider: code, PKCE, state, nonce, and what is refused."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.conf import settings as django_settings
from django.db import connection

from controlplane.access.login.oidc.models import Identity, LoginAttempt
from controlplane.access.models import AuditRecord, Principal, Session
from controlplane.events.models import Event
from tests.support.logins import Person


def query_of(url):
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_a_person_logs_in_and_lands_where_they_wanted(person):
    response = person.log_in("/login?idp=idp&redirect_url=/agents%3Fq%3D1")

    assert (response.status_code, response["Location"]) == (302, "/agents?q=1")
    assert person.is_in
    ada = Principal.objects.get(name=person.account)
    assert (ada.kind, ada.email, ada.display_name) == (
        "person",
        f"{person.account}@example.com",
        person.account,
    )
    identity = Identity.objects.get(principal=ada)
    assert (identity.issuer, identity.subject) == (person.provider.issuer, person.account)
    session = Session.objects.get(principal=ada)
    assert session.identity == identity
    assert session.auth_time is not None
    assert session.provider_sid
    (success,) = AuditRecord.objects.filter(action="login.succeeded")
    assert (success.actor, success.object_id) == (person.account, person.account)


def test_the_request_to_the_provider_has_pkce_state_and_nonce(person):
    query = query_of(person.begin())

    assert query["response_type"] == "code"
    assert query["code_challenge_method"] == "S256"
    assert query["redirect_uri"] == "http://testserver/callback"
    assert len({query["state"], query["nonce"], query["code_challenge"]}) == 3
    assert all(len(query[name]) == 43 for name in ("state", "nonce", "code_challenge"))
    cookie = person.console.cookies[django_settings.LOGIN_COOKIE_NAME]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 600)


def test_an_answer_is_used_once(person):
    callback = person.confirm(person.begin())
    cookies = dict(person.console.cookies)
    assert person.console.get(callback).status_code == 302

    person.console.cookies.update(cookies)
    again = person.console.get(callback)

    assert again.status_code == 403
    assert "already used" in again.content.decode()


def test_an_answer_in_another_browser_is_refused(person, identity_provider):
    callback = person.confirm(person.begin())
    other = Person(identity_provider, person.account)

    assert other.console.get(callback).status_code == 403
    other.begin()
    assert other.console.get(callback).status_code == 403
    assert not other.is_in
    assert not Principal.objects.filter(name=person.account).exists()


@pytest.mark.parametrize("change", ["state", "code", "iss"])
def test_a_changed_answer_is_refused(person, change):
    callback = person.confirm(person.begin())
    query = {**query_of(callback), change: "https://evil.example"}

    response = person.console.get(f"/callback?{urlencode(query)}")

    assert response.status_code == 403
    assert not person.is_in
    assert Event.objects.filter(type="login.failed").exists()


def test_an_answer_without_its_issuer_is_refused_where_the_provider_always_sends_it(person):
    query = query_of(person.confirm(person.begin()))
    del query["iss"]

    response = person.console.get(f"/callback?{urlencode(query)}")

    assert response.status_code == 403
    assert "another provider" in response.content.decode()


def test_a_login_of_yesterday_is_refused(person):
    callback = person.confirm(person.begin())
    with connection.cursor() as cursor:
        cursor.execute("UPDATE access_loginattempt SET expires_at = now() - interval '1 second'")

    assert person.console.get(callback).status_code == 403


def test_a_declined_login_shows_the_provider_and_the_request_id(person):
    person.account = "denied"

    response = person.console.get(person.confirm(person.begin()), headers={"X-Request-ID": "r-42"})

    assert response.status_code == 403
    page = response.content.decode()
    assert "Test login did not log you in: access_denied" in page
    assert "r-42" in page
    (failure,) = Event.objects.filter(type="login.failed")
    assert failure.data["provider"] == "idp"


def test_no_secret_of_a_login_is_stored(person):
    query = query_of(person.begin())
    cookie = person.console.cookies[django_settings.LOGIN_COOKIE_NAME].value

    with connection.cursor() as cursor:
        cursor.execute("SELECT access_loginattempt::text FROM access_loginattempt")
        (row,) = cursor.fetchone()

    assert LoginAttempt.objects.count() == 1
    for secret in (cookie, query["state"], query["nonce"], query["code_challenge"]):
        assert secret not in row


def test_the_key_of_the_session_is_new_after_a_login(person):
    person.log_in()
    first = person.console.cookies[django_settings.SESSION_COOKIE_NAME].value

    person.console.get("/login?idp=idp&reauthenticate=1")
    callback = person.confirm(person.begin("/login?idp=idp&reauthenticate=1"))
    person.console.get(callback)

    assert person.console.cookies[django_settings.SESSION_COOKIE_NAME].value != first
    assert Session.objects.count() == 1


def test_who_is_logged_in_already_goes_where_they_wanted(person):
    person.log_in()

    response = person.console.get("/login?redirect_url=/agents")

    assert (response.status_code, response["Location"]) == (302, "/agents")


def test_the_second_login_of_an_identity_finds_its_person(person):
    person.log_in()
    person.console.get("/logout")
    person.set_claims(preferred_username="renamed", name="Ada Lovelace", email="ada@elsewhere.example")

    person.log_in()

    ada = Principal.objects.get(name=person.account)
    assert (ada.display_name, ada.email) == ("Ada Lovelace", "ada@elsewhere.example")
    assert Identity.objects.count() == 1


def test_nobody_becomes_another_person_by_name_or_email(person, api):
    from tests.support.api_client import make_principal

    make_principal(name=person.account)

    person.log_in()

    assert Identity.objects.get().principal.name == f"{person.account}-2"


def test_a_disabled_person_cannot_log_in(person):
    person.log_in()
    Principal.objects.filter(name=person.account).update(is_active=False)
    person.console.get("/logout")

    response = person.log_in()

    assert response.status_code == 403
    assert "disabled" in response.content.decode()


def test_without_jit_only_linked_identities_log_in(person, settings, api):
    settings.JIT = False
    assert person.log_in().status_code == 403
    assert not Principal.objects.filter(name=person.account).exists()


def test_es256_is_accepted_and_userinfo_completes_the_claims(person, configure):
    configure(client_id="controlplane-es256", rules=[{"value": "ml", "role": "viewer"}])
    person.set_claims(userinfo_only={"groups": ["ml"]}, groups=None)

    assert person.log_in().status_code == 302
    assert "GET /me" in person.provider.requests()
