"""Logout: here, at the provider, and from the provider by a signed token."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings as django_settings
from django.db import connection

from controlplane.access.models import AuditRecord, Session
from controlplane.access.secrets.sealing import seal
from controlplane.events.models import Event


def query_of(url):
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def test_logout_ends_the_session_here_and_then_at_the_provider(person):
    person.log_in()

    response = person.console.get("/logout")

    assert response.status_code == 302
    assert response["Location"].startswith(f"{person.provider.issuer}/session/end?")
    query = query_of(response["Location"])
    assert query["post_logout_redirect_uri"] == "http://testserver/logout"
    assert query["id_token_hint"].count(".") == 2
    assert not person.is_in
    assert Session.objects.count() == 0
    assert AuditRecord.objects.filter(action="session.logged_out", actor=person.account).exists()


def test_a_form_leads_to_the_provider_by_a_page_because_its_policy_forbids_a_redirect(person):
    person.log_in()

    response = person.console.post("/logout")

    assert response.status_code == 200
    assert f'content="0;url={person.provider.issuer}/session/end?' in response.content.decode()
    assert not person.is_in


def test_the_id_token_is_stored_sealed(person):
    person.log_in()

    stored = Session.objects.get().id_token

    assert stored.startswith("v1.")
    assert seal(b"x", "y").split(".")[:2] == stored.split(".")[:2]
    with connection.cursor() as cursor:
        cursor.execute("SELECT access_session::text FROM access_session")
        assert "eyJ" not in cursor.fetchone()[0]


def test_after_the_provider_the_browser_goes_where_it_wanted(person):
    person.log_in()
    away = person.console.get("/logout?redirect_url=/agents")
    state = query_of(away["Location"])["state"]

    back = person.console.get("/logout", {"state": state})

    assert (back.status_code, back["Location"]) == (302, "/agents")
    assert person.console.get("/logout", {"state": state[:-1]}).status_code == 200
    assert "Logged out" in person.console.get("/logout").content.decode()


def test_logout_leads_to_no_other_site(person):
    person.log_in()

    response = person.console.get("/logout?redirect_url=https://evil.example/")

    assert response.status_code == 403
    assert person.is_in


def test_a_logout_token_ends_the_session_that_it_names(person):
    person.log_in()
    sid = Session.objects.get().provider_sid
    token = captured_token(person, sub=person.account, sid=sid)

    response = person.console.post("/oidc/backchannel-logout", {"logout_token": token})

    assert (response.status_code, response["Cache-Control"]) == (200, "no-store")
    assert not person.is_in
    assert Event.objects.filter(type="session.ended").exists()
    again = person.console.post("/oidc/backchannel-logout", {"logout_token": token})
    assert (again.status_code, again.json()["error"]) == (400, "invalid_request")


def test_a_logout_token_without_sid_ends_all_sessions_of_the_person(person, identity_provider):
    person.log_in()
    kept = person.console.cookies[django_settings.SESSION_COOKIE_NAME].value
    person.console.cookies.clear()
    person.log_in()
    assert Session.objects.count() == 2

    token = captured_token(person, sub=person.account)
    assert person.console.post("/oidc/backchannel-logout", {"logout_token": token}).status_code == 200

    assert Session.objects.count() == 0
    assert kept


def test_a_logout_token_for_another_session_ends_none(person):
    person.log_in()

    token = captured_token(person, sub=person.account, sid="another")
    assert person.console.post("/oidc/backchannel-logout", {"logout_token": token}).status_code == 200

    assert person.is_in


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "eyJhbGciOiJub25lIn0.e30."])
def test_what_is_no_logout_token_is_refused(person, token):
    response = person.console.post("/oidc/backchannel-logout", {"logout_token": token})

    assert (response.status_code, response["Cache-Control"]) == (400, "no-store")


def test_an_id_token_is_no_logout_token(person):
    person.log_in()
    hint = query_of(person.console.get("/logout")["Location"])["id_token_hint"]

    response = person.console.post("/oidc/backchannel-logout", {"logout_token": hint})

    assert response.status_code == 400


def test_backchannel_logout_takes_only_post(person):
    assert person.console.get("/oidc/backchannel-logout").status_code == 405


def captured_token(person, **body):
    """A logout token that the provider really sent, to a listener of this test."""
    return person.provider.capture_logout_token(**body)
