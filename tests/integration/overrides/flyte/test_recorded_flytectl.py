"""Requests of flytectl 1.16.8, as recorded in real logins, and what it needs in the answers."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from controlplane.access import principals
from controlplane.access.authentication import find_token
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.oauth import device_codes
from controlplane.access.oauth.client_secrets import create_secret
from controlplane.access.oauth.client_specs import ClientSpec
from controlplane.access.oauth.clients import create_client, ensure_built_in_clients
from controlplane.access.oauth.models import DeviceCode
from tests.support.api_client import ACTOR, make_principal

CALLBACK = "http://localhost:53593/callback"
VERIFIER = "nbg7vfg7rphbm26brb7cqxcx725fntvhrrrxhhhvb4d46fzgm7q4kwm4vrtzfr5v"
CHALLENGE = "F7SGDK8e491Z3QEJIxkUVyjfG0bAot_axjQoXVAuCi4"
STATE = "YzhnemZsanZiNmN0NzljYzZ2c3pjd3hudHNodjZqcGc"
NONCE = "aG1tMmhmNW5wZzZ6bnd3ZGNwNHN6ZHE2OXc4MmYybWY"
DEVICE_GRANT = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code"


@pytest.fixture(autouse=True)
def clients(db) -> None:
    ensure_built_in_clients()


@pytest.fixture
def ada(db) -> Principal:
    return principals.create_principal(
        "ada", kind=PrincipalKind.PERSON, password="correct horse battery staple", actor=ACTOR
    )


def post(path: str, body: str, basic: str = "") -> Any:
    headers = {"User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip"}
    if basic:
        headers["Authorization"] = f"Basic {base64.b64encode(basic.encode()).decode()}"
    return Client().post(path, body, content_type="application/x-www-form-urlencoded", headers=headers)


def principal_of(answer: dict[str, Any]) -> str:
    return find_token(answer["access_token"]).principal.name


def service_secret() -> str:
    spec = ClientSpec(
        "pipeline",
        is_public=False,
        grants=("client_credentials",),
        principal=make_principal(name="robot").name,
    )
    return create_secret(create_client(spec, actor=ACTOR), None, actor=ACTOR)[1]


def test_client_secret_in_the_header(db):
    secret = service_secret()

    answer = post("/oauth2/token", "grant_type=client_credentials&scope=all+offline", f"pipeline:{secret}")

    assert answer.status_code == 200
    assert principal_of(answer.json()) == "robot"
    assert isinstance(answer.json()["expires_in"], int)
    assert answer.json()["token_type"] == "Bearer"
    assert "refresh_token" not in answer.json()


def test_client_secret_in_the_body_as_its_second_attempt(db):
    secret = service_secret()
    body = f"client_id=pipeline&client_secret={secret}&grant_type=client_credentials&scope=all+offline"

    assert principal_of(post("/oauth2/token", body).json()) == "robot"


@pytest.mark.parametrize("is_basic", [True, False])
def test_a_wrong_secret_has_a_definite_answer(db, is_basic):
    service_secret()
    body = "grant_type=client_credentials&scope=all+offline"

    answer = (
        post("/oauth2/token", body, "pipeline:wrong")
        if is_basic
        else post("/oauth2/token", f"client_id=pipeline&client_secret=wrong&{body}")
    )

    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


def test_pkce_with_an_empty_secret_in_the_header(ada):
    browser = Client()
    browser.force_login(ada)
    query = (
        f"client_id=flytectl&redirect_uri={urlencode({'': CALLBACK})[1:]}&response_type=code"
        f"&scope=all+offline&code_challenge={CHALLENGE}&code_challenge_method=S256&nonce={NONCE}&state={STATE}"
    )
    redirect = browser.get(f"/oauth2/authorize?{query}")
    assert redirect.status_code == 302
    location, _, parameters = redirect["Location"].partition("?")
    returned = dict(pair.split("=", 1) for pair in parameters.split("&"))
    assert (location, returned["state"]) == (CALLBACK, STATE)
    # flytectl escapes the code for HTML, and sends what results.
    assert set(returned["code"]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

    body = (
        f"code={returned['code']}&code_verifier={VERIFIER}&grant_type=authorization_code"
        f"&redirect_uri={urlencode({'': CALLBACK})[1:]}"
    )
    tokens = post("/oauth2/token", body, "flytectl:").json()

    assert principal_of(tokens) == "ada"
    refreshed = post(
        "/oauth2/token", f"grant_type=refresh_token&refresh_token={tokens['refresh_token']}", "flytectl:"
    )
    assert refreshed.status_code == 200
    assert refreshed.json()["refresh_token"] != tokens["refresh_token"]


def test_the_device_flow_with_an_empty_audience(ada):
    device = post("/oauth2/device", "audience=&client_id=flytectl&scope=all+offline").json()
    assert {"device_code", "user_code", "verification_uri", "expires_in", "interval"} <= set(device)
    poll = f"client_id=flytectl&device_code={device['device_code']}&grant_type={DEVICE_GRANT}"

    waiting = post("/oauth2/token", poll)
    assert (waiting.status_code, waiting.json()["error"]) == (400, "authorization_pending")
    device_codes.decide_about_device(
        DeviceCode.objects.get(), ada, is_approved=True, auth_time=timezone.now()
    )
    DeviceCode.objects.update(polled_at=None)

    answer = post("/oauth2/token", poll)
    assert answer.status_code == 200, answer.json()
    assert principal_of(answer.json()) == "ada"
    assert answer.json()["refresh_token"]
