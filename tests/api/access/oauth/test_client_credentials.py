"""Services with a secret: client authentication, scopes and limits."""

from __future__ import annotations

import pytest

from controlplane.access.models import Token
from controlplane.access.oauth import client_secrets, limits
from controlplane.access.oauth.models import ClientSecret
from controlplane.events.models import Event
from tests.support.api_client import ACTOR, Api
from tests.support.oauth_flows import basic, credentials_token, post, service_client, token_request

pytestmark = pytest.mark.django_db


def test_a_service_gets_a_token_with_its_roles_and_no_refresh_token():
    client, secret = service_client("viewer")

    body = credentials_token(client, secret).json()

    assert set(body) == {"access_token", "expires_in", "token_type", "scope"}
    assert Api(body["access_token"]).get("me").json()["name"] == client.principal.name


@pytest.mark.parametrize("escaped", [True, False])
def test_both_escaped_and_raw_basic_headers_are_accepted(escaped):
    client, secret = service_client("viewer", client_id="a.b-c_d")

    headers = basic(client.client_id, secret, escaped=escaped)

    assert token_request({"grant_type": "client_credentials"}, **headers).status_code == 200


def test_a_secret_with_characters_that_need_escaping_works_either_way():
    client, _ = service_client("viewer")
    secret = "a+b%2F c/=&" + "x" * 20
    from controlplane.access.tokens import digest

    ClientSecret.objects.update(digest=digest(secret))

    for escaped in (True, False):
        headers = basic(client.client_id, secret, escaped=escaped)
        assert token_request({"grant_type": "client_credentials"}, **headers).status_code == 200


def test_the_secret_is_accepted_in_the_body():
    client, secret = service_client("viewer")
    credentials = {"client_id": client.client_id, "client_secret": secret}

    response = token_request({"grant_type": "client_credentials", "audience": "", **credentials})

    assert response.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Basic"},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic bm9jb2xvbg=="},
        {"Authorization": "Bearer cp_oat_x"},
        basic("nobody", "x"),
        basic("flytectl", "x"),
    ],
)
def test_a_client_that_does_not_authenticate_gets_401_and_a_challenge(headers):
    response = token_request({"grant_type": "client_credentials"}, **headers)

    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
    assert response["WWW-Authenticate"].startswith("Basic ")
    assert set(response.json()) == {"error", "error_description"}


def test_a_wrong_secret_is_refused_and_recorded_without_it():
    client, _ = service_client("viewer")

    response = token_request({"grant_type": "client_credentials"}, **basic(client.client_id, "guess"))

    assert response.status_code == 401
    event = Event.objects.get(type="oauth.client_denied")
    assert event.data["client"] == client.client_id
    assert "guess" not in str(event.data)


def test_two_secrets_are_valid_at_once_and_a_revoked_one_is_not():
    client, first = service_client("viewer")
    row, second = client_secrets.create_secret(client, None, actor=ACTOR)

    both = [credentials_token(client, secret).status_code for secret in (first, second)]
    client_secrets.revoke_secret(client, row.id, actor=ACTOR)

    assert both == [200, 200]
    assert credentials_token(client, second).status_code == 401
    assert credentials_token(client, first).status_code == 200


def test_an_expired_secret_is_refused():
    from datetime import timedelta

    from django.utils import timezone

    client, secret = service_client("viewer")
    ClientSecret.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert credentials_token(client, secret).status_code == 401


@pytest.mark.parametrize(
    ("requested", "granted"),
    [
        ("", "all"),
        ("all", "all"),
        ("all offline", "all"),
        ("read", "read"),
        ("read read", "read"),
        ("overrides read", "read"),
        ("all access_token", "all"),
    ],
)
def test_scopes_are_reduced_to_those_of_the_client(requested, granted):
    client, secret = service_client("viewer")

    assert credentials_token(client, secret, requested).json()["scope"] == granted


@pytest.mark.parametrize("requested", ["overrides", "offline", "nonsense", "publish:ml"])
def test_a_request_of_which_no_scope_is_left_is_an_invalid_scope(requested):
    client, secret = service_client("viewer")

    assert credentials_token(client, secret, requested).json()["error"] == "invalid_scope"


def test_a_narrow_scope_is_a_ceiling_for_the_roles():
    client, secret = service_client("admin")
    token = credentials_token(client, secret, "read").json()["access_token"]

    assert Api(token).get("principals").status_code == 200
    assert Api(token).post("principals", {"name": "x", "kind": "service"}).status_code == 403
    assert Api(token).post("tokens", {"name": "x"}).status_code == 403


def test_a_client_whose_service_is_disabled_gets_no_token():
    from controlplane.access import principals

    client, secret = service_client("viewer")
    service_client("admin")
    token = credentials_token(client, secret).json()["access_token"]
    principals.set_active(client.principal.name, is_active=False, actor=ACTOR)

    assert credentials_token(client, secret).json()["error"] == "unauthorized_client"
    assert Api(token).get("me").status_code == 401


def test_a_client_may_use_only_its_grants():
    client, secret = service_client("viewer")
    parameters = {"grant_type": "refresh_token", "refresh_token": "cp_ort_x"}

    response = token_request(parameters, **basic(client.client_id, secret))

    assert response.json()["error"] == "unauthorized_client"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", '{"grant_type": "client_credentials"}'),
        ("text/plain", "grant_type=client_credentials"),
        ("application/x-www-form-urlencoded", "grant_type=client_credentials&grant_type=password"),
        ("application/x-www-form-urlencoded", ""),
        ("application/x-www-form-urlencoded", "grant_type=%00"),
    ],
)
def test_a_malformed_request_is_an_invalid_request(content_type, body):
    from django.test import Client

    response = Client().post("/oauth2/token", body, content_type)

    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


def test_only_post_without_a_query_gives_tokens():
    from django.test import Client

    client, secret = service_client("viewer")
    headers = basic(client.client_id, secret)

    assert Client().get("/oauth2/token").status_code == 405
    assert post("/oauth2/token?grant_type=client_credentials", {}, **headers).status_code == 400
    assert post("/oauth2/token?x=1", {"grant_type": "client_credentials"}, **headers).status_code == 400
    assert not Token.objects.filter(oauth__isnull=False).exists()


def test_twenty_failures_per_minute_are_allowed_per_client_and_address():
    client, secret = service_client("viewer")
    other, other_secret = service_client("viewer")
    wrong = basic(client.client_id, "guess")

    for _ in range(20):
        assert token_request({"grant_type": "client_credentials"}, **wrong).status_code == 401
    limited = token_request({"grant_type": "client_credentials"}, **wrong)

    assert limited.status_code == 429
    assert limited["Retry-After"] == str(limits.WINDOW_SECONDS)
    assert credentials_token(other, other_secret).status_code == 200
    parameters = {"grant_type": "client_credentials"}
    elsewhere = token_request(parameters, **basic(client.client_id, secret), **{"X-Nothing": "1"})
    assert elsewhere.status_code == 429
    from django.test import Client

    from tests.support.oauth_flows import FORM

    moved = Client(REMOTE_ADDR="192.0.2.7").post(
        "/oauth2/token", "grant_type=client_credentials", FORM, headers=basic(client.client_id, secret)
    )
    assert moved.status_code == 200


def test_successful_requests_do_not_count():
    client, secret = service_client("viewer")

    assert {credentials_token(client, secret).status_code for _ in range(25)} == {200}


def test_without_our_own_server_its_endpoints_do_not_exist(settings):
    settings.AUTH_SERVER = frozenset({"external"})

    assert token_request({"grant_type": "client_credentials"}).status_code == 404
