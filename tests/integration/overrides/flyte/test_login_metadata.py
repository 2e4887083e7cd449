"""What clients read before they log in: equal over gRPC and HTTP, in every format, of either server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import grpc
import httpx
import pytest
from django.test import Client
from flyteidl.service import auth_pb2
from flyteidl.service.auth_pb2_grpc import AuthMetadataServiceStub
from google.protobuf import json_format

from controlplane.access.flyte_auth import external_metadata
from overrides.flyte import calls
from overrides.flyte.errors import Code, FlyteError
from tests.support.local_site import LocalSite

METADATA = "/.well-known/oauth-authorization-server"
CLIENT = "/config/v1/flyte_client"
FLYTE_FIELDS = {field.name for field in auth_pb2.OAuth2MetadataResponse.DESCRIPTOR.fields}
EXTERNAL = {
    "issuer": "https://idp.example.com/realms/a",
    "authorization_endpoint": "https://idp.example.com/realms/a/auth",
    "token_endpoint": "https://idp.example.com/realms/a/token",
    "response_types_supported": ["code"],
    "jwks_uri": "https://idp.example.com/realms/a/certs",
    "device_authorization_endpoint": "https://idp.example.com/realms/a/device",
    "tls_client_certificate_bound_access_tokens": True,
    "mtls_endpoint_aliases": {"token_endpoint": "https://mtls.example.com/token"},
}


@pytest.fixture
def channel(live) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"127.0.0.1:{live.grpc_port}") as channel:
        grpc.channel_ready_future(channel).result(timeout=30)
        yield channel


def get(path: str, accept: str = "") -> Any:
    return Client().get(path, headers={"Accept": accept} if accept else {})


def test_metadata_is_equal_over_grpc_and_in_every_format_of_http(live, channel):
    def get(path: str, accept: str = "*/*") -> httpx.Response:
        return httpx.get(f"{live.url}{path}", headers={"Accept": accept})

    over_grpc = AuthMetadataServiceStub(channel).GetOAuth2Metadata(auth_pb2.OAuth2MetadataRequest())
    document = get(METADATA).json()

    assert over_grpc.issuer == live.url
    flyte_members = {name: value for name, value in document.items() if name in FLYTE_FIELDS}
    assert json_format.MessageToDict(over_grpc, preserving_proto_field_name=True) == flyte_members
    assert json_format.MessageToDict(over_grpc) == get(METADATA, "*").json()
    protobuf = get(METADATA, "application/octet-stream").content
    assert auth_pb2.OAuth2MetadataResponse.FromString(protobuf) == over_grpc


@pytest.mark.parametrize("accept", ["", "*/*", "application/json", "text/html,*/*;q=0.8"])
@pytest.mark.parametrize(
    ("path", "member", "caching"),
    [(METADATA, "token_endpoint", "public, max-age=300"), (CLIENT, "redirect_uri", "no-store")],
)
def test_http_answers_in_snake_case_unless_another_format_is_named(db, path, member, caching, accept):
    response = get(path, accept)

    assert response.status_code == 200
    assert member in response.json()
    assert response["Cache-Control"] == caching


def test_metadata_has_what_flytes_clients_need(db):
    document = get(METADATA).json()

    assert document["issuer"] == "http://localhost:8000"
    assert document["token_endpoint"] == "http://localhost:8000/oauth2/token"
    assert document["device_authorization_endpoint"] == "http://localhost:8000/oauth2/device"
    assert document["code_challenge_methods_supported"] == ["S256"]
    assert {"client_secret_basic", "client_secret_post", "none"} <= set(
        document["token_endpoint_auth_methods_supported"]
    )
    assert {"all", "offline"} <= set(document["scopes_supported"])


def test_the_client_configuration_is_equal_over_grpc_and_http(live, channel):
    over_grpc = AuthMetadataServiceStub(channel).GetPublicClientConfig(
        auth_pb2.PublicClientAuthConfigRequest()
    )

    assert json_format.MessageToDict(over_grpc, preserving_proto_field_name=True) == {
        "client_id": "flytectl",
        "redirect_uri": live.environment["FLYTE_CLIENT_REDIRECT_URI"],
        "scopes": ["all", "offline"],
        "authorization_metadata_key": "flyte-authorization",
    }
    document = httpx.get(f"{live.url}{CLIENT}").json()
    assert json_format.ParseDict(document, auth_pb2.PublicClientAuthConfigResponse()) == over_grpc
    camel = httpx.get(f"{live.url}{CLIENT}", headers={"Accept": "*"}).json()
    assert camel["redirectUri"] == document["redirect_uri"]


def test_the_client_configuration_comes_from_the_settings(db, settings):
    settings.FLYTE_CLIENT_ID, settings.FLYTE_CLIENT_AUDIENCE = "my-cli", "api://flyte"
    settings.FLYTE_CLIENT_SCOPES = ["a", "b"]
    settings.FLYTE_AUTHORIZATION_HEADERS = ["x-flyte", "flyte-authorization"]

    document = get(CLIENT).json()

    assert (document["client_id"], document["audience"]) == ("my-cli", "api://flyte")
    assert document["scopes"] == ["a", "b"]
    assert document["authorization_metadata_key"] == "x-flyte"


# An external authorization server.


@pytest.fixture
def site(settings) -> Iterator[LocalSite]:
    with LocalSite() as site:
        settings.AUTH_SERVER = frozenset({"external"})
        settings.EXTERNAL_AUTH_SERVER = f"{site.url}/realms/a"
        settings.EXTERNAL_AUTH_SERVER_RETRIES = 5
        settings.EXTERNAL_AUTH_SERVER_RETRY_SECONDS = 0
        external_metadata.DOCUMENTS.clear()
        yield site
    external_metadata.DOCUMENTS.clear()


def over_grpc() -> Any:
    request = auth_pb2.OAuth2MetadataRequest()
    return calls.answer("GetOAuth2Metadata", request, authorization="", transport="grpc")


def test_the_whole_document_of_an_external_server_is_passed_on(db, site):
    site.pages["/realms/a/.well-known/oauth-authorization-server"] = [json.dumps(EXTERNAL)]

    assert get(METADATA).json() == EXTERNAL
    assert over_grpc().token_endpoint == EXTERNAL["token_endpoint"]
    assert get(METADATA, "*").json()["jwksUri"] == EXTERNAL["jwks_uri"]
    assert len(site.requests) == 1


def test_a_server_that_recovers_is_asked_again(db, site):
    path = "/realms/a/.well-known/oauth-authorization-server"
    site.pages[path] = ["", "", json.dumps(EXTERNAL)]

    assert get(METADATA).json() == EXTERNAL
    assert site.requests == [path] * 3


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"issuer": "x"}', "not json"])
def test_a_server_without_a_usable_document_is_unavailable(db, site, body):
    site.pages["/realms/a/.well-known/oauth-authorization-server"] = [body] * 10

    response = get(METADATA)

    assert (response.status_code, response.json()["code"]) == (503, "issuer_unavailable")
    assert int(response["Retry-After"]) > 0
    with pytest.raises(FlyteError) as refused:
        over_grpc()
    assert refused.value.code is Code.UNAVAILABLE


def test_another_path_of_the_document(db, site, settings):
    settings.EXTERNAL_AUTH_SERVER_METADATA = ".well-known/openid-configuration"
    site.pages["/realms/a/.well-known/openid-configuration"] = [json.dumps(EXTERNAL)]

    assert get(METADATA).json() == EXTERNAL


def test_with_both_servers_clients_use_ours(db, site, settings):
    settings.AUTH_SERVER = frozenset({"self", "external"})

    assert get(METADATA).json()["token_endpoint"].endswith("/oauth2/token")
    assert site.requests == []
