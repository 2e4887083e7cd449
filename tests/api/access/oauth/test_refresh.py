"""Refresh tokens: rotation, grace for parallel clients, and detection of stolen tokens."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F

from controlplane.access.models import Token
from controlplane.access.oauth.models import RefreshToken, TokenFamily
from controlplane.events.models import Event
from tests.support.api_client import Api
from tests.support.oauth_flows import Login, basic, person_with_browser, post, refresh, service_client

pytestmark = pytest.mark.django_db


@pytest.fixture
def tokens():
    return Login(person_with_browser("viewer")[1]).tokens()


def age(**time):
    """Move all uses of refresh tokens into the past."""
    RefreshToken.objects.update(replaced_at=F("replaced_at") - timedelta(**time))


def test_a_refresh_gives_new_tokens_and_the_old_access_token_stays_valid(tokens):
    body = refresh(tokens["refresh_token"]).json()

    assert body["refresh_token"] != tokens["refresh_token"]
    assert body["scope"] == "all offline"
    assert [Api(token).get("me").status_code for token in (tokens["access_token"], body["access_token"])] == [
        200,
        200,
    ]


def test_reuse_after_the_grace_period_revokes_everything_of_the_login(tokens):
    body = refresh(tokens["refresh_token"]).json()
    age(seconds=31)

    reused = refresh(tokens["refresh_token"])

    assert (reused.status_code, reused.json()["error"]) == (400, "invalid_grant")
    assert refresh(body["refresh_token"]).json()["error"] == "invalid_grant"
    assert {Api(token).get("me").status_code for token in (tokens["access_token"], body["access_token"])} == {
        401
    }
    assert Event.objects.filter(type="oauth.refresh_reused").count() == 1


def test_parallel_clients_with_one_keyring_both_go_on(tokens):
    first = refresh(tokens["refresh_token"]).json()
    second = refresh(tokens["refresh_token"]).json()

    assert refresh(first["refresh_token"]).status_code == 200
    assert refresh(second["refresh_token"]).status_code == 200


def test_the_grace_period_is_only_for_the_direct_predecessor(tokens):
    first = refresh(tokens["refresh_token"]).json()
    refresh(first["refresh_token"])

    assert refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert TokenFamily.objects.get().revoked_at is not None


def test_a_refresh_token_belongs_to_its_client(tokens):
    other, secret = service_client("viewer", grants=("client_credentials", "refresh_token"))
    parameters = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}

    responses = [
        refresh(tokens["refresh_token"], "flyte-cli"),
        post("/oauth2/token", parameters, **basic(other.client_id, secret)),
    ]

    assert [response.json()["error"] for response in responses] == ["invalid_grant"] * 2
    assert refresh(tokens["refresh_token"]).status_code == 200


def test_a_refresh_may_narrow_the_scopes_but_never_widen_them():
    login = Login(person_with_browser("viewer")[1], scope="read offline")
    token = login.tokens()["refresh_token"]

    wider = refresh(token, scope="all")
    narrower = refresh(token, scope="read")

    assert wider.json()["error"] == "invalid_scope"
    assert narrower.json()["scope"] == "read"
    assert refresh(narrower.json()["refresh_token"]).json()["scope"] == "read offline"


def test_an_invalid_scope_does_not_use_the_refresh_token_up(tokens):
    login = Login(person_with_browser("viewer")[1], scope="read offline")
    token = login.tokens()["refresh_token"]
    refresh(token, scope="all")
    age(seconds=31)

    assert refresh(token).status_code == 200


def test_refresh_tokens_expire_when_unused_and_with_their_login(tokens):
    body = refresh(tokens["refresh_token"]).json()
    RefreshToken.objects.update(expires_at=F("expires_at") - timedelta(hours=2))

    assert refresh(body["refresh_token"]).json()["error"] == "invalid_grant"
    assert TokenFamily.objects.get().revoked_at is None


def test_the_end_of_the_login_bounds_every_later_token(tokens):
    TokenFamily.objects.update(ends_at=F("created_at") + timedelta(minutes=5))

    body = refresh(tokens["refresh_token"]).json()

    assert body["expires_in"] <= 300
    family = TokenFamily.objects.get()
    assert RefreshToken.objects.order_by("-generation").first().expires_at == family.ends_at


def test_a_disabled_person_cannot_refresh(tokens):
    from controlplane.access.models import Principal

    Principal.objects.update(is_active=False)

    assert refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_disabled_client_cannot_refresh_and_its_tokens_end(tokens):
    from controlplane.access.oauth import clients
    from controlplane.access.oauth.models import OAuthClient
    from tests.support.api_client import ACTOR

    OAuthClient.objects.filter(client_id="flytectl").update(source="api")
    clients.change_client("flytectl", {"is_active": False}, actor=ACTOR, precondition=None)

    assert refresh(tokens["refresh_token"]).status_code == 401
    assert Api(tokens["access_token"]).get("me").status_code == 401


@pytest.mark.parametrize("token", ["", "cp_ort_nonsense", "\u00fc", "x" * 5000])
def test_nonsense_is_refused(token):
    assert refresh(token).json()["error"] in ("invalid_grant", "invalid_request")


def test_a_refresh_token_and_a_client_secret_authenticate_no_request(tokens):
    _, secret = service_client("admin")

    for credential in (tokens["refresh_token"], secret):
        response = Api(credential).get("me")
        assert response.status_code == 401
        assert "/oauth2/token" in response.json()["detail"]


def test_no_column_contains_a_token_or_code(tokens):
    from django.db import connection

    body = refresh(tokens["refresh_token"]).json()
    _, secret = service_client("viewer")
    login = Login(person_with_browser("viewer")[1])
    code = login.code()
    login.exchange(code)
    secrets = [tokens["access_token"], tokens["refresh_token"], body["access_token"], secret, code,
               body["refresh_token"], login.verifier]  # fmt: skip
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor)]
        for table in tables:
            cursor.execute(f"SELECT coalesce(string_agg(t::text, ' '), '') FROM \"{table}\" AS t")
            text = cursor.fetchone()[0]
            assert not [secret for secret in secrets if secret in text], table
            assert not [secret for secret in secrets if secret.encode().hex() in text], table
    assert Token.objects.count() > 0
