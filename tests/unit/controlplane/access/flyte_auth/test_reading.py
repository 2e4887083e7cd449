"""Upstream's `auth:` section: forms, defaults, mistakes with file and line, and what has no effect."""

from __future__ import annotations

import pytest

from controlplane.access.flyte_auth.reading import read
from controlplane.access.flyte_auth.sections import InvalidConfiguration
from controlplane.access.flyte_auth.setting_values import setting_values

HASH = "$2a$06$abcdefghijklmnopqrstuuAQXs7RiJbSKmjTKeAZKL3Eo0V9n0xCu"
FORMS = {
    "the server's own section": ("auth:\n",),
    "values of flyte-core": ("configmap:\n", "adminServer:\n", "auth:\n"),
    "values of flyte-binary": ("configuration:\n", "inline:\n", "auth:\n"),
    "flyte-binary, as printed": ("inline:\n", "auth:\n"),
}


def indented(text: str, levels: int) -> str:
    return "".join(f"{'  ' * levels}{line}\n" for line in text.strip().splitlines())


@pytest.mark.parametrize("form", FORMS)
def test_the_section_is_read_wherever_upstream_has_it(form):
    names = FORMS[form]
    text = "".join("  " * level + name for level, name in enumerate(names))
    text += indented("appAuth:\n  selfAuthServer:\n    accessTokenLifespan: 1h30m", len(names))

    assert read(text, "auth.yaml").lifetimes.access_token == 5400


def test_an_empty_section_has_upstreams_defaults():
    auth = read("auth: {}", "auth.yaml")

    assert (auth.http_header, auth.server, auth.authorized_uris) == ("flyte-authorization", "self", ())
    assert (auth.lifetimes.access_token, auth.lifetimes.refresh_token) == (1800, 3600)
    assert (auth.client.client_id, auth.client.scopes) == ("flytectl", ("all", "offline"))
    assert (auth.external.retry_attempts, auth.external.retry_delay) == (5, 1)
    assert auth.is_enabled is None


@pytest.mark.parametrize(
    ("printed", "audiences"),
    [
        ("allowedAudience: https://a.example.com", ("https://a.example.com",)),
        ("AllowedAudience: [https://a.example.com]", ("https://a.example.com",)),
        ("allowedAudience: []", ()),
        ("allowedAudience: [api://x, y]", ("api://x", "y")),
    ],
)
def test_an_audience_is_a_string_or_a_list(printed, audiences):
    text = f"auth:\n  appAuth:\n    externalAuthServer:\n      {printed}\n"

    assert read(text, "auth.yaml").external.allowed_audience == audiences


@pytest.mark.parametrize(
    ("metadata", "address"),
    [
        ("", "https://idp.example.com/realms/x/.well-known/oauth-authorization-server"),
        (
            ".well-known/openid-configuration",
            "https://idp.example.com/realms/x/.well-known/openid-configuration",
        ),
        ("/.well-known/x", "https://idp.example.com/.well-known/x"),
        ("https://other.example.com/m", "https://other.example.com/m"),
    ],
)
def test_the_metadata_url_is_relative_to_the_base_url(metadata, address):
    server = f"baseUrl: https://idp.example.com/realms/x, metadataUrl: '{metadata}'"
    text = f"auth: {{appAuth: {{authServerType: External, externalAuthServer: {{{server}}}}}}}"

    assert read(text, "auth.yaml").external.metadata_address == address


def test_the_external_server_is_the_consoles_provider_by_default():
    text = (
        "auth:\n  appAuth: {authServerType: external}\n"
        "  userAuth: {openId: {baseUrl: https://idp.example.com, clientId: a}}\n"
    )

    assert read(text, "auth.yaml").external.base_url == "https://idp.example.com"


def test_the_issuer_of_the_console_can_differ_from_its_address():
    text = (
        "auth:\n  userAuth:\n    openId:\n      baseUrl: http://keycloak.in.cluster\n"
        "      issuerUrl: https://keycloak.example.com\n      clientId: a\n"
    )

    assert setting_values(read(text, "auth.yaml"))["OIDC_ISSUER"] == "https://keycloak.example.com"


def test_two_header_names_are_both_accepted():
    text = "auth:\n  grpcAuthorizationHeader: X-Flyte\n  httpAuthorizationHeader: x-web\n"

    assert setting_values(read(text, "auth.yaml"))["FLYTE_AUTHORIZATION_HEADERS"] == "x-flyte,x-web"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (
            "auth:\n  appAuth:\n    authServerType: Slef\n",
            "line 3: `auth.appAuth.authServerType` must be one of",
        ),
        ("auth:\n  authorizedUris: [ftp://x]\n", "line 2: `auth.authorizedUris[0]` must be a URL"),
        (
            "auth:\n  authorizedUris:\n  - https://<your-url>\n",
            "line 3: `auth.authorizedUris[0]` still has the",
        ),
        ("auth:\n\n  userAuth: 3\n", "line 3: `auth.userAuth` must be a mapping"),
        (
            "auth:\n  appAuth:\n    selfAuthServer:\n      accessTokenLifespan: 30\n",
            "line 4: `auth.appAuth.selfAuthServer.accessTokenLifespan` must be a duration",
        ),
        ("auth:\n  enabled: 'yes'\n", "line 2: `auth.enabled` must be true or false"),
        (
            "auth:\n  oidc:\n    baseUrl: https://a.example.com\n",
            "`auth.userAuth.openId.clientId` is required",
        ),
        ("auth:\n  appAuth: {authServerType: External}\n", "externalAuthServer.baseUrl` is required"),
        (
            "auth:\n  internal: {clientSecretHash: plain}\n",
            "`auth.internal.clientSecretHash` must be a bcrypt",
        ),
        (
            "auth:\n  userAuth: {}\n  UserAuth: {}\n",
            "line 3: `auth.UserAuth` is repeated with other capitals",
        ),
        ("a: [1\n", "Invalid YAML"),
        ("other: 1\n", "there is no `auth:` section"),
        ("", "there is no `auth:` section"),
    ],
)
def test_a_mistake_names_file_and_line(text, mistake):
    with pytest.raises(InvalidConfiguration) as refused:
        read(text, "auth.yaml")

    assert str(refused.value).startswith("auth.yaml")
    assert mistake in str(refused.value)


def test_all_mistakes_are_reported_at_once_and_show_no_value():
    text = "auth:\n  enabled: maybe-secret\n  appAuth:\n    authServerType: hunter2\n"

    with pytest.raises(InvalidConfiguration) as refused:
        read(text, "auth.yaml")

    assert len(str(refused.value).splitlines()) == 2
    assert "secret" not in str(refused.value)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("auth:\n  colour: blue\n", "line 2: `auth.colour` is unknown and has no effect."),
        ("auth:\n  userAuth:\n    openId: {x: 1}\n", "`auth.userAuth.openId.x` is unknown"),
        ("auth:\n  disableForHttp: true\n", "line 2: `auth.disableForHttp` has no effect"),
        ("auth:\n  httpProxyURL: http://proxy\n", "`auth.httpProxyURL` has no effect"),
        ("auth: {}\nserver: {security: {useAuth: false}}\n", "Authentication is off in this file"),
    ],
)
def test_what_has_no_effect_is_a_warning(text, warning):
    warnings = read(text, "auth.yaml").warnings

    assert len(warnings) == 1
    assert warning in warnings[0]


def test_the_inline_section_wins_over_the_values():
    text = (
        "configuration:\n  auth:\n    flyteClient: {clientId: a, audience: x}\n"
        "  inline:\n    auth:\n      appAuth: {thirdPartyConfig: {flyteClient: {clientId: b}}}\n"
    )

    client = read(text, "auth.yaml").client

    assert (client.client_id, client.audience) == ("b", "x")


def test_a_secret_is_in_no_representation():
    auth = read(
        "auth: {oidc: {baseUrl: https://a.example.com, clientId: a, clientSecret: hunter2}}", "auth.yaml"
    )

    assert auth.user.open_id.client_secret == "hunter2"
    assert "hunter2" not in repr(auth)
