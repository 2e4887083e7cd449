"""Metadata, introspection, revocation and claims."""

from __future__ import annotations

import pytest
from django.test import Client

from controlplane.access.login.oidc.provider import Provider
from controlplane.access.oauth.extension_grants import IssuedToken, OAuthError, _handlers, register_grant
from tests.support.api_client import Api
from tests.support.oauth_flows import (
    Login,
    basic,
    credentials_token,
    person_with_browser,
    post,
    refresh,
    service_client,
    token_request,
)

pytestmark = pytest.mark.django_db
FLYTE_FIELDS = [
    "issuer",
    "authorization_endpoint",
    "token_endpoint",
    "response_types_supported",
    "scopes_supported",
    "token_endpoint_auth_methods_supported",
    "jwks_uri",
    "code_challenge_methods_supported",
    "grant_types_supported",
    "device_authorization_endpoint",
]


@pytest.fixture
def tokens():
    return Login(person_with_browser("viewer", name="ada")[1], scope="all offline openid profile").tokens()


def test_the_metadata_names_only_endpoints_that_exist():
    document = Client().get("/.well-known/oauth-authorization-server").json()

    assert list(document)[:10] == FLYTE_FIELDS
    assert document["issuer"] == "http://localhost:8000"
    for name, address in document.items():
        if name.endswith(("_endpoint", "_uri")):
            path = address.removeprefix("http://localhost:8000")
            assert Client().get(path).status_code != 404, name
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert "password" not in document["grant_types_supported"]


def test_the_metadata_never_depends_on_the_host():
    first = Client().get("/.well-known/oauth-authorization-server").content
    second = Client().get("/.well-known/oauth-authorization-server", HTTP_HOST="127.0.0.1").content

    assert first == second


def test_a_protected_resource_names_its_server():
    document = Client().get("/.well-known/oauth-protected-resource").json()

    assert document["resource"] == "http://localhost:8000"
    assert document["authorization_servers"] == ["http://localhost:8000"]
    assert document["bearer_methods_supported"] == ["header"]


def test_every_401_names_the_metadata():
    anonymous, unknown = Api().get("me"), Api("cp_pat_x").get("me")

    assert anonymous["WWW-Authenticate"] == (
        'Bearer resource_metadata="http://localhost:8000/.well-known/oauth-protected-resource"'
    )
    assert unknown["WWW-Authenticate"].endswith(', error="invalid_token"')


def test_openid_configuration_is_ours_that_of_the_provider_or_missing(settings):
    def ask():
        return Client().get("/.well-known/openid-configuration")

    assert ask().status_code == 404
    settings.IDENTITY_PROVIDERS = [Provider("idp", "https://idp.example.com/realms/flyte", "console")]
    redirected = ask()
    assert redirected.status_code == 303
    assert redirected["Location"] == "https://idp.example.com/realms/flyte/.well-known/openid-configuration"
    settings.OIDC_PROVIDER = True
    assert ask().json()["userinfo_endpoint"] == "http://localhost:8000/oauth2/userinfo"


def test_there_are_no_keys_until_a_jwt_is_signed():
    assert Client().get("/oauth2/jwks").json() == {"keys": []}


def test_a_client_introspects_its_own_tokens_only():
    client, secret = service_client("viewer")
    other, other_secret = service_client("viewer")
    token = credentials_token(client, secret).json()["access_token"]

    own = post("/oauth2/introspect", {"token": token}, **basic(client.client_id, secret))
    foreign = post("/oauth2/introspect", {"token": token}, **basic(other.client_id, other_secret))
    unknown = post("/oauth2/introspect", {"token": "x"}, **basic(other.client_id, other_secret))
    nobody = post("/oauth2/introspect", {"token": token})
    public = post("/oauth2/introspect", {"token": token, "client_id": "flytectl"})

    assert own.json()["active"] is True
    assert own.json()["client_id"] == client.client_id
    assert (foreign.status_code, unknown.status_code, public.status_code) == (403, 403, 403)
    assert foreign.json() == unknown.json()
    assert nobody.status_code == 401


def test_a_client_with_introspection_describes_all_tokens(tokens):
    client, secret = service_client("viewer", may_introspect=True)

    def describe(token):
        return post("/oauth2/introspect", {"token": token}, **basic(client.client_id, secret)).json()

    assert describe(tokens["access_token"])["username"] == "ada"
    assert describe(tokens["access_token"])["scope"] == "all offline openid profile"
    assert describe(tokens["refresh_token"])["token_type"] == "refresh_token"
    assert describe("unknown") == {"active": False}
    refresh(tokens["refresh_token"])
    assert describe(tokens["refresh_token"]) == {"active": False}


def test_a_revoked_refresh_token_ends_the_login_everywhere(tokens):
    newer = refresh(tokens["refresh_token"]).json()

    response = post("/oauth2/revoke", {"token": newer["refresh_token"], "client_id": "flytectl"})

    assert response.status_code == 200
    assert {Api(t).get("me").status_code for t in (tokens["access_token"], newer["access_token"])} == {401}
    assert refresh(newer["refresh_token"]).status_code == 400


def test_a_revoked_access_token_stops_working(tokens):
    response = post("/oauth2/revoke", {"token": tokens["access_token"], "client_id": "flytectl"})

    assert response.status_code == 200
    assert Api(tokens["access_token"]).get("me").status_code == 401
    assert refresh(tokens["refresh_token"]).status_code == 200


def test_a_client_cannot_revoke_tokens_of_another(tokens):
    responses = [
        post("/oauth2/revoke", {"token": tokens[name], "client_id": "flyte-cli"})
        for name in ("access_token", "refresh_token")
    ]

    assert [response.status_code for response in responses] == [200, 200]
    assert Api(tokens["access_token"]).get("me").status_code == 200
    assert refresh(tokens["refresh_token"]).status_code == 200


def test_revoking_an_unknown_token_succeeds_and_an_unknown_client_does_not():
    assert post("/oauth2/revoke", {"token": "unknown", "client_id": "flytectl"}).status_code == 200
    assert post("/oauth2/revoke", {"token": "unknown"}).status_code == 401
    assert post("/oauth2/revoke", {"client_id": "flytectl"}).status_code == 400


def test_claims_need_the_scope_openid(tokens):
    plain = Login(person_with_browser("viewer")[1]).tokens()["access_token"]

    claims = Api(tokens["access_token"]).get("/oauth2/userinfo")
    refused = Api(plain).get("/oauth2/userinfo")

    assert claims.json()["preferred_username"] == "ada"
    assert refused.status_code == 403
    assert Api().get("/oauth2/userinfo").status_code == 401
    assert Api("cp_oat_x").get("/oauth2/userinfo").status_code == 401


def test_other_packages_add_grant_types():
    def handler(parameters, client, facts):
        if parameters["subject_token"] == "bad":
            raise OAuthError("invalid_grant", "The claim sub does not match.")
        assert client is None
        assert "client_secret" not in parameters
        return IssuedToken("cp_oat_x", 60, "read", issued_token_type="urn:x")

    register_grant("urn:test", handler)
    try:
        good = token_request({"grant_type": "urn:test", "subject_token": "good"})
        bad = token_request({"grant_type": "urn:test", "subject_token": "bad"})
        unknown = token_request({"grant_type": "urn:test", "subject_token": "good", "client_id": "nobody"})
        document = Client().get("/.well-known/oauth-authorization-server").json()
    finally:
        del _handlers["urn:test"]

    assert good.json() == {
        "access_token": "cp_oat_x",
        "token_type": "Bearer",
        "expires_in": 60,
        "scope": "read",
        "issued_token_type": "urn:x",
    }
    assert bad.json() == {"error": "invalid_grant", "error_description": "The claim sub does not match."}
    assert unknown.status_code == 401
    assert "urn:test" in document["grant_types_supported"]
