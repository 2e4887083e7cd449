"""The `auth:` blocks of Flyte's guide, for each provider and chart, give the expected settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controlplane.access.flyte_auth.reading import read
from controlplane.access.flyte_auth.setting_values import setting_values
from controlplane.access.issuers.external_issuers import parse_issuers

GOLDEN = Path(__file__).parent / "golden"
SITE = "https://flyte.example.com"
OKTA = "https://dev-12345.okta.com/oauth2/default"
OKTA_CUSTOM = "https://dev-12345.okta.com/oauth2/aus1b2c3d4"
KEYCLOAK = "https://keycloak.example.com/realms/flyte"
KEYCLOAK_OLD = "https://keycloak.example.com/auth/realms/flyte"
ENTRA = "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0"
ENTRA_APP = "66666666-7777-8888-9999-000000000000"
GOOGLE = "https://accounts.google.com"
IN_CLUSTER = "http://flyteadmin:80,http://flyteadmin.flyte.svc.cluster.local:80"
CLIENT = {
    "FLYTE_AUTHORIZATION_HEADERS": "flyte-authorization",
    "FLYTE_CLIENT_ID": "flytectl",
    "FLYTE_CLIENT_REDIRECT_URI": "http://localhost:53593/callback",
    "FLYTE_CLIENT_SCOPES": "all,offline",
    "OIDC_CLIENT_ID": "flyte-console",
    "OIDC_SCOPES": "profile,openid",
}
OWN = {
    **CLIENT,
    "PUBLIC_URL": SITE,
    "AUTH_SERVER": "self",
    "OAUTH_ACCESS_TOKEN_SECONDS": "1800",
    "OAUTH_REFRESH_TOKEN_SECONDS": "3600",
    "OAUTH_CODE_SECONDS": "300",
}
BINARY = {**OWN, "OIDC_CLIENT_SECRET": "a-secret-of-the-provider", "OIDC_SCOPES": "openid,profile"}
CORE = {**OWN, "AUTHORIZED_URIS": IN_CLUSTER, "FLYTE_CLIENT_SCOPES": "offline,all"}


def external(server: str, metadata: str = "oauth-authorization-server") -> dict[str, str]:
    return {
        "AUTH_SERVER": "external",
        "OIDC_ISSUER": server,
        "EXTERNAL_AUTH_SERVER": server,
        "EXTERNAL_AUTH_SERVER_METADATA": f"{server}/.well-known/{metadata}",
        "EXTERNAL_AUTH_SERVER_RETRIES": "5",
        "EXTERNAL_AUTH_SERVER_RETRY_SECONDS": "1",
    }


BINARY_EXTERNAL = {
    **CLIENT,
    "PUBLIC_URL": SITE,
    "FLYTE_CLIENT_ID": "flytectl-at-provider",
    "FLYTE_CLIENT_SCOPES": "offline,all",
    "OIDC_CLIENT_SECRET": "a-secret-of-the-provider",
}
EXPECTED = {
    "okta-binary": {**BINARY, "OIDC_ISSUER": OKTA},
    "okta-core": {**CORE, "OIDC_ISSUER": OKTA},
    "okta-binary-external": {**BINARY_EXTERNAL, **external(OKTA_CUSTOM)},
    "okta-core-external": {**CLIENT, **external(OKTA_CUSTOM, "openid-configuration")},
    "keycloak-binary": {**BINARY, "OIDC_ISSUER": KEYCLOAK},
    "keycloak-core": {**CORE, "OIDC_ISSUER": KEYCLOAK},
    "keycloak-binary-external": {**BINARY_EXTERNAL, **external(KEYCLOAK_OLD)},
    "keycloak-core-external": {**CLIENT, **external(KEYCLOAK_OLD, "openid-configuration")},
    "entra-binary": {**BINARY, "OIDC_ISSUER": ENTRA},
    "entra-core": {**CORE, "OIDC_ISSUER": ENTRA},
    "entra-binary-external": {**BINARY_EXTERNAL, **external(ENTRA)},
    "entra-core-external": {
        **CLIENT,
        **external(ENTRA, "openid-configuration"),
        "EXTERNAL_AUTH_SERVER": f"{ENTRA}/",
        "FLYTE_CLIENT_ID": ENTRA_APP,
        "FLYTE_CLIENT_SCOPES": f"api://{ENTRA_APP}/flyte",
        "OIDC_CLIENT_ID": ENTRA_APP,
        "OIDC_SCOPES": "openid,profile",
    },
    "google-binary": {**BINARY, "OIDC_ISSUER": GOOGLE},
    "google-core": {**CORE, "OIDC_ISSUER": GOOGLE},
}


CONSOLE = {"console_client_id": "flyte-console", "clients": {"flytepropeller-at-provider": "flytepropeller"}}
AUDIENCE = {"allowed_audience": [SITE]}
ENTRA_V1 = "https://sts.windows.net/11111111-2222-3333-4444-555555555555/"
ENTRA_CONSOLE = {
    "allowed_audience": [f"api://{ENTRA_APP}"],
    "console_client_id": ENTRA_APP,
    "clients": {ENTRA_APP: "flytepropeller"},
}
ISSUERS = {
    "okta-binary-external": [{"issuer": OKTA_CUSTOM, **CONSOLE}],
    "okta-core-external": [{"issuer": OKTA_CUSTOM, **AUDIENCE, **CONSOLE}],
    "keycloak-binary-external": [{"issuer": KEYCLOAK_OLD, **CONSOLE}],
    "keycloak-core-external": [{"issuer": KEYCLOAK_OLD, **AUDIENCE, **CONSOLE}],
    "entra-binary-external": [{"issuer": issuer, **CONSOLE} for issuer in (ENTRA, ENTRA_V1)],
    "entra-core-external": [{"issuer": issuer, **ENTRA_CONSOLE} for issuer in (ENTRA, ENTRA_V1)],
}


def test_every_block_has_its_expectation():
    assert {path.stem for path in GOLDEN.glob("*.yaml")} == set(EXPECTED)


@pytest.mark.parametrize("block", EXPECTED)
def test_a_block_of_the_guide_gives_the_expected_settings(block):
    auth = read((GOLDEN / f"{block}.yaml").read_text(), f"{block}.yaml")

    values = setting_values(auth)
    assert json.loads(values.pop("EXTERNAL_ISSUERS", "[]")) == ISSUERS.get(block, [])
    assert values == {**EXPECTED[block], "OIDC_KIND": block.partition("-")[0]}
    assert auth.is_enabled in (True, None)


@pytest.mark.parametrize("block", ISSUERS)
def test_the_issuers_of_a_block_are_valid_settings(block):
    values = setting_values(read((GOLDEN / f"{block}.yaml").read_text(), f"{block}.yaml"))

    assert list(parse_issuers(values["EXTERNAL_ISSUERS"])) == [entry["issuer"] for entry in ISSUERS[block]]


@pytest.mark.parametrize("block", [block for block in EXPECTED if "external" not in block])
def test_propeller_keeps_its_secret_and_its_grants(block):
    auth = read((GOLDEN / f"{block}.yaml").read_text(), f"{block}.yaml")

    propeller = next(client for client in auth.static_clients if client.client_id == "flytepropeller")
    assert propeller.secret_hash.startswith("$2b$06$")
    assert propeller.grant_types == ("refresh_token", "client_credentials")
    assert propeller.scopes == ("all", "offline", "access_token")
    assert propeller.secret_hash not in repr(auth)


@pytest.mark.parametrize(
    ("block", "warnings"),
    [
        ("okta-binary", []),
        (
            "okta-core-external",
            ["line 9: `auth.externalAuthServer` is read as `auth.appAuth.externalAuthServer`."],
        ),
        (
            "entra-core-external",
            [
                f"line {line}: `auth.userAuth.{name}` is read as `auth.userAuth.openId.{name}`."
                for line, name in ((37, "baseUrl"), (39, "scopes"), (41, "clientId"))
            ],
        ),
    ],
)
def test_misplaced_members_are_read_with_a_warning(block, warnings):
    auth = read((GOLDEN / f"{block}.yaml").read_text(), "auth.yaml")

    assert list(auth.warnings) == [f"auth.yaml, {warning}" for warning in warnings]
