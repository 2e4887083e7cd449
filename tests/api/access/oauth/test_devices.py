"""Logins of devices without a browser (RFC 8628)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db.models import F

from controlplane.access.models import Token
from controlplane.access.oauth.device_codes import ALPHABET
from controlplane.access.oauth.models import DeviceCode, OAuthClient
from tests.support.api_client import Api
from tests.support.oauth_flows import DEVICE_GRANT, person_with_browser, post, refresh, token_request

pytestmark = pytest.mark.django_db


def start(**parameters):
    return post(
        "/oauth2/device", {"client_id": "flytectl", "scope": "all offline", "audience": ""} | parameters
    )


def poll(codes, client_id="flytectl"):
    parameters = {"client_id": client_id, "device_code": codes["device_code"], "grant_type": DEVICE_GRANT}
    return token_request(parameters)


def wait(**time):
    DeviceCode.objects.update(polled_at=F("polled_at") - timedelta(**time))


@pytest.fixture
def browser():
    return person_with_browser("viewer", name="ada")[1]


def decide(browser, codes, decision="approve"):
    return browser.post("/device", {"user_code": codes["user_code"], "decision": decision})


def test_a_person_approves_a_device_and_it_logs_in(browser):
    response = start()
    codes = response.json()
    pending = poll(codes)
    page = browser.get(codes["verification_uri_complete"].removeprefix("http://localhost:8000"))
    decide(browser, codes)
    tokens = poll(codes).json()

    assert response["Cache-Control"] == "no-store"
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", codes["device_code"])
    assert re.fullmatch(f"[{ALPHABET}]{{4}}-[{ALPHABET}]{{4}}", codes["user_code"])
    assert codes["verification_uri"] == "http://localhost:8000/device"
    assert (codes["expires_in"], codes["interval"]) == (600, 5)
    assert (pending.status_code, pending.json()["error"]) == (400, "authorization_pending")
    assert "flytectl" in page.content.decode()
    assert "127.0.0.1" in page.content.decode()
    assert Api(tokens["access_token"]).get("me").json()["name"] == "ada"
    assert Token.objects.get(oauth__isnull=False).auth_time is not None
    assert refresh(tokens["refresh_token"]).status_code == 200


def test_a_denied_device_gets_an_error(browser):
    codes = start().json()
    decide(browser, codes, "deny")

    assert poll(codes).json()["error"] == "access_denied"


def test_fast_polls_slow_down_by_five_seconds_each(browser):
    codes = start().json()

    errors = [poll(codes).json()["error"] for _ in range(3)]

    assert errors == ["authorization_pending", "slow_down", "slow_down"]
    assert DeviceCode.objects.get().interval == 15
    wait(seconds=15)
    assert poll(codes).json()["error"] == "authorization_pending"


def test_a_device_that_never_slows_down_still_gets_its_tokens(browser):
    codes = start().json()
    poll(codes), poll(codes)
    decide(browser, codes)

    assert poll(codes).status_code == 200


def test_a_device_code_works_once_and_its_second_use_revokes(browser):
    codes = start().json()
    decide(browser, codes)
    token = poll(codes).json()["access_token"]

    assert poll(codes).json()["error"] == "invalid_grant"
    assert Api(token).get("me").status_code == 401


def test_an_expired_code_cannot_be_approved_or_used(browser):
    codes = start().json()
    DeviceCode.objects.update(expires_at=F("expires_at") - timedelta(minutes=11))

    assert poll(codes).json()["error"] == "expired_token"
    assert decide(browser, codes).status_code == 404


@pytest.mark.parametrize("typed", ["{0}", " {0} ", "{1}", "{2}"])
def test_user_codes_are_compared_without_case_and_dash(browser, typed):
    code = start().json()["user_code"]

    page = browser.post("/device", {"user_code": typed.format(code, code.lower(), code.replace("-", ""))})

    assert page.status_code == 200
    assert "Approve device" in page.content.decode()


def test_ten_wrong_codes_in_five_minutes_are_allowed(browser):
    for _ in range(10):
        assert browser.post("/device", {"user_code": "BBBB-BBBB"}).status_code == 404

    assert browser.post("/device", {"user_code": "BBBB-BBBB"}).status_code == 429
    assert browser.post("/device", {"user_code": start().json()["user_code"]}).status_code == 429


def test_another_client_cannot_use_the_code(browser):
    codes = start().json()
    decide(browser, codes)

    assert poll(codes, "flyte-cli").json()["error"] == "invalid_grant"
    assert poll(codes).status_code == 200


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"client_id": "nobody"}, "invalid_client"),
        ({"client_id": ""}, "invalid_client"),
        ({"scope": "nonsense"}, "invalid_scope"),
        ({"client_secret": "x"}, "invalid_client"),
    ],
)
def test_a_wrong_request_starts_nothing(parameters, error):
    assert start(**parameters).json()["error"] == error
    assert not DeviceCode.objects.exists()


def test_a_client_without_the_grant_cannot_use_devices():
    OAuthClient.objects.filter(client_id="flytectl").update(allowed_grants=["refresh_token"])

    assert start().json()["error"] == "unauthorized_client"


def test_a_missing_or_unknown_device_code_is_refused():
    assert (
        token_request({"client_id": "flytectl", "grant_type": DEVICE_GRANT}).json()["error"]
        == "invalid_request"
    )
    assert poll({"device_code": "A" * 43}).json()["error"] == "invalid_grant"


def test_the_page_needs_a_login_of_a_person():
    from django.test import Client

    page = Client().get("/device?user_code=BBBB-BBBB")

    assert page.status_code == 302
    assert page["Location"].startswith("/login?")


def test_a_form_of_another_site_approves_nothing():
    from django.test import Client

    person, _ = person_with_browser("viewer")
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(person)
    codes = start().json()

    assert decide(browser, codes).status_code == 403
    assert poll(codes).json()["error"] == "authorization_pending"
