"""JWTs for other resource servers, ID tokens, and the keys that sign them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone
from joserfc import jwt
from joserfc.jwk import KeySet

from controlplane.access.oauth import signing_keys
from controlplane.access.oauth.models import SigningKey
from controlplane.access.oauth.signing_keys import rotate, rotate_if_old
from tests.support.api_client import ACTOR, Api
from tests.support.oauth_flows import Login, basic, person_with_browser, post, service_client, token_request

pytestmark = pytest.mark.django_db
FLYTE = "https://flyte.example.com"


@pytest.fixture
def jwts(settings):
    settings.ACCESS_TOKEN_FORMAT = "jwt"


def verified(token):
    keys = KeySet.import_key_set(Client().get("/oauth2/jwks").json())
    registry = jwt.JWSRegistry(strict_check_header=False)
    return jwt.decode(token, keys, algorithms=["RS256"], registry=registry)


def request(client, secret, **parameters):
    return token_request(
        {"grant_type": "client_credentials", **parameters}, **basic(client.client_id, secret)
    )


def test_a_token_for_another_audience_is_a_jwt(jwts):
    client, secret = service_client("viewer", audiences=(FLYTE,))

    body = request(client, secret, audience=FLYTE).json()

    token = verified(body["access_token"])
    assert token.header["typ"] == "at+jwt"
    assert token.header["kid"] == token.header["key_id"]
    assert token.claims["iss"] == "http://localhost:8000"
    assert token.claims["aud"] == [FLYTE]
    assert token.claims["sub"] == str(client.principal.id)
    assert token.claims["client_id"] == client.client_id
    assert (token.claims["scope"], token.claims["scp"]) == ("all", ["all"])
    assert token.claims["exp"] - token.claims["iat"] == body["expires_in"] == 600
    assert Api(body["access_token"]).get("me").status_code == 401


@pytest.mark.parametrize("audience", ["", "http://localhost:8000", "http://localhost:8000/"])
def test_a_token_for_this_server_stays_opaque(jwts, audience):
    client, secret = service_client("viewer", audiences=(FLYTE,))

    token = request(client, secret, audience=audience).json()["access_token"]

    assert token.startswith("cp_oat_")
    assert Api(token).get("me").status_code == 200


def test_an_audience_that_the_client_may_not_have_is_an_invalid_target(jwts):
    client, secret = service_client("viewer", audiences=(FLYTE,))

    assert request(client, secret, audience="https://other.example.com").json()["error"] == "invalid_target"


def test_without_jwts_an_audience_is_ignored():
    client, secret = service_client("viewer")

    assert request(client, secret, audience=FLYTE).json()["access_token"].startswith("cp_oat_")


def test_a_revoked_jwt_is_inactive_in_introspection(jwts):
    client, secret = service_client("viewer", audiences=(FLYTE,))
    token = request(client, secret, audience=FLYTE).json()["access_token"]

    def active():
        return post("/oauth2/introspect", {"token": token}, **basic(client.client_id, secret)).json()[
            "active"
        ]

    before = active()
    post("/oauth2/revoke", {"token": token}, **basic(client.client_id, secret))

    assert (before, active()) == (True, False)


def test_an_id_token_has_the_nonce_and_only_requested_claims(settings):
    settings.OIDC_PROVIDER = True
    person, browser = person_with_browser("viewer", name="ada")
    login = Login(browser, scope="openid profile all")

    claims = verified(login.tokens()["id_token"]).claims

    assert claims["aud"] == "flytectl"
    assert claims["sub"] == str(person.id)
    assert claims["nonce"] == "n-1"
    assert claims["preferred_username"] == "ada"
    assert "auth_time" in claims
    assert "email" not in claims


def test_without_the_provider_no_id_token_is_issued():
    login = Login(person_with_browser("viewer")[1], scope="openid all")

    assert "id_token" not in login.tokens()
    assert not SigningKey.objects.exists()


def test_a_retired_key_verifies_until_its_end():
    first = signing_keys.sign({"n": 1}, token_type="JWT")
    rotate(actor=ACTOR)
    second = signing_keys.sign({"n": 2}, token_type="JWT")

    assert [verified(token).claims["n"] for token in (first, second)] == [1, 2]
    SigningKey.objects.filter(state="retired").update(not_after=timezone.now())
    with pytest.raises(Exception, match=r"(?i)key"):
        verified(first)
    assert verified(second).claims["n"] == 2


def test_the_next_key_is_published_before_it_signs():
    signing_keys.sign({}, token_type="JWT")
    published = {key["kid"] for key in Client().get("/oauth2/jwks").json()["keys"]}

    active = rotate(actor=ACTOR)

    assert active.kid in published


def test_keys_are_rotated_when_they_are_old_and_the_next_is_known():
    now = timezone.now()
    assert not rotate_if_old(now)
    rotate(actor=ACTOR)

    assert not rotate_if_old(now + timedelta(days=89))
    assert not rotate_if_old(now + timedelta(minutes=1))
    SigningKey.objects.filter(state="next").update(created_at=now + timedelta(days=90))
    assert not rotate_if_old(now + timedelta(days=90, hours=1))
    SigningKey.objects.filter(state="next").update(created_at=F("created_at") - timedelta(days=2))
    assert rotate_if_old(now + timedelta(days=90, hours=1))


def test_private_keys_are_sealed_and_published_keys_are_public():
    rotate(actor=ACTOR)

    for row in SigningKey.objects.all():
        assert row.private_key.startswith("v1.")
        assert "PRIVATE" not in row.private_key
    for key in Client().get("/oauth2/jwks").json()["keys"]:
        assert set(key) == {"kty", "n", "e", "kid", "use", "alg"}
