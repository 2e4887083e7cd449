"""The authorization endpoint in a browser: refusals, consent, and other sites."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.access.oauth import clients
from controlplane.access.oauth.client_specs import ClientSpec
from controlplane.access.oauth.models import AccessGrant, Consent
from controlplane.events.models import Event
from tests.support.api_client import ACTOR
from tests.support.oauth_flows import CALLBACK, Login, answer_of, person_with_browser
from tests.unit.controlplane.access.oauth.test_redirects import TRICKS

pytestmark = pytest.mark.django_db
HTTPS = "https://app.example.com/callback"


@pytest.fixture
def login():
    spec = ClientSpec("app", "Notebook", redirect_uris=(HTTPS, "http://localhost:53593/callback", "http://127.0.0.1/cb?x=1"),
                      scopes=("all", "offline", "read"), default_scopes=("read",))  # fmt: skip
    clients.create_client(spec, actor=ACTOR)
    return Login(
        person_with_browser("viewer", name="ada")[1], client_id="app", redirect_uri=HTTPS, scope="read"
    )


@pytest.mark.parametrize("uri", TRICKS)
def test_no_trick_with_the_redirect_uri_is_ever_followed(login, uri):
    response = login.authorize(redirect_uri=uri)

    assert response.status_code == 400
    assert "Location" not in response
    assert "Invalid login request" in response.content.decode()
    assert not AccessGrant.objects.exists()


@pytest.mark.parametrize("client_id", [None, "", "nobody", "app\0", "x" * 999, "flytectl"])
def test_an_unknown_client_gets_a_page_and_no_redirect(login, client_id):
    response = login.authorize(client_id=client_id)

    assert response.status_code == 400
    assert "Location" not in response


def test_a_repeated_parameter_gets_a_page_and_no_redirect(login):
    response = login.browser.get("/oauth2/authorize?client_id=app&client_id=app&redirect_uri=" + HTTPS)

    assert response.status_code == 400


def test_a_client_of_several_addresses_must_name_one(login):
    assert login.authorize(redirect_uri=None).status_code == 400


def test_a_person_is_asked_once_per_client_and_scopes(login):
    asked = login.authorize()
    page = login.browser.get(asked["Location"])
    allowed = login.browser.post(asked["Location"], {"decision": "allow"})
    again = login.authorize()
    wider = login.authorize(scope="all")

    assert asked["Location"].startswith("/oauth2/consent?")
    assert "Allow Notebook to act for you?" in page.content.decode()
    assert "form-action 'self' https://app.example.com" in page["Content-Security-Policy"]
    assert allowed["Location"].startswith(f"{HTTPS}?")
    assert answer_of(allowed)["iss"] == "http://localhost:8000"
    assert login.exchange(answer_of(allowed)["code"]).status_code == 200
    assert "code" in answer_of(again)
    assert wider["Location"].startswith("/oauth2/consent?")
    assert Consent.objects.get().scopes == ["read"]
    assert Event.objects.filter(type="oauth.consent_given").count() == 1


def test_a_person_can_be_asked_again(login):
    login.browser.post(login.authorize()["Location"], {"decision": "allow"})

    assert login.authorize(prompt="consent")["Location"].startswith("/oauth2/consent?")


def test_a_denial_returns_to_the_client(login):
    response = login.browser.post(login.authorize()["Location"], {"decision": "deny"})

    answer = answer_of(response)
    assert (answer["error"], answer["state"]) == ("access_denied", login.state)
    assert answer["iss"] == "http://localhost:8000"
    assert not Consent.objects.exists()


def test_a_silent_request_that_needs_consent_is_refused(login):
    assert answer_of(login.authorize(prompt="none"))["error"] == "consent_required"


def test_the_consent_page_checks_the_request_again(login):
    location = login.authorize()["Location"].replace("app.example.com", "evil.example")

    assert login.browser.get(location).status_code == 400
    assert login.browser.post(location, {"decision": "allow"}).status_code == 400


def test_parameters_of_the_form_change_nothing(login):
    form = {
        "decision": "allow",
        "redirect_uri": "https://evil.example/",
        "scope": "all",
        "client_id": "flytectl",
    }
    response = login.browser.post(login.authorize()["Location"], form)

    assert response["Location"].startswith(f"{HTTPS}?")
    assert AccessGrant.objects.get().scope == "read"


def test_a_form_of_another_site_gives_no_consent(login):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person_with_browser("viewer")[0])
    login.browser = browser

    response = browser.post(login.authorize()["Location"], {"decision": "allow"})

    assert response.status_code == 403
    assert not AccessGrant.objects.exists()


def test_flytectl_is_trusted_and_may_use_any_loopback_port():
    login = Login(person_with_browser("viewer")[1], redirect_uri="http://localhost:40123/callback")

    assert login.authorize()["Location"].startswith("http://localhost:40123/callback?")
    assert Login(login.browser, redirect_uri=CALLBACK).tokens()["scope"] == "all offline"


def test_services_cannot_log_in_to_clients():
    from tests.support.api_client import make_principal

    browser = Client()
    browser.force_login(make_principal("admin"))

    assert Login(browser).authorize()["Location"].startswith("/login?")


def test_header_injection_through_state_is_refused(login):
    login.client_id, login.redirect_uri = "flytectl", CALLBACK
    answer = answer_of(login.authorize(state="x\r\nSet-Cookie: a=b"))

    assert answer["error"] == "invalid_request"
