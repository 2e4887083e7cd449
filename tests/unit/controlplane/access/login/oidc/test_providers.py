"""Documents of identity providers, and the settings that hold them."""

from __future__ import annotations

import pytest

from controlplane.access.login.oidc.provider import ProviderKind, ProviderSource
from controlplane.access.login.oidc.provider_documents import parse_provider, provider_document
from controlplane.access.login.oidc.provider_metadata import parse_metadata
from controlplane.access.login.oidc.provider_settings import parse_providers, single_provider
from controlplane.errors import InvalidIdentityProvider

DOCUMENT = {"slug": "work", "issuer": "https://login.example.com/realms/work", "client_id": "cp"}
RULE = {"value": "cp-*", "role": "viewer", "scope": {"project": "*"}}
TENANT = "0b1c0f6e-8b7e-4b3f-9a52-3f6f0a4a2c11"


def parse(**changes):
    return parse_provider({**DOCUMENT, **changes}, "", ProviderSource.API)


def test_a_document_is_read_and_written_back():
    provider = parse(kind="keycloak", rules=[RULE], allowed_domains=["example.com"])

    assert provider.kind is ProviderKind.KEYCLOAK
    assert provider.rules[0].claim == "groups"
    assert parse_provider(provider_document(provider), "", ProviderSource.API) == provider


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"slug": "Work"}, "/slug"),
        ({"issuer": "http://login.example.com"}, "/issuer"),
        ({"issuer": "https://login.example.com?x=1"}, "/issuer"),
        ({"issuer": "https://user@login.example.com"}, "/issuer"),
        ({"issuer": "https://[login"}, "/issuer"),
        ({"issuer": "https://login.microsoftonline.com/common/v2.0"}, "/issuer"),
        ({"issuer": "https://login.microsoftonline.com/{tenantid}/v2.0"}, "/tenants"),
        ({"tenants": ["work"]}, "/tenants/0"),
        ({"client_id": ""}, "/client_id"),
        ({"scopes": ["profile"]}, "/scopes"),
        ({"kind": "google"}, "/allowed_domains"),
        ({"kind": "other"}, "/kind"),
        ({"allowed_domains": ["Example.com"]}, "/allowed_domains/0"),
        ({"rules": [{"value": "a*b", "role": "viewer"}]}, "/rules/0/value"),
        ({"rules": [{"value": "", "role": "viewer"}]}, "/rules/0/value"),
        ({"rules": [{"value": "a"}]}, "/rules/0"),
        ({"rules": [{"value": "a", "team": "t", "scope": {"project": "p"}}]}, "/rules/0/scope"),
        ({"rules": [{"value": "a", "role": "viewer", "scope": {"project": "*"}}]}, "/rules/0/scope"),
        ({"rules": [{"value": "a", "role": "viewer", "scope": {"planet": "x"}}]}, "/rules/0/scope"),
        ({"rules": [{"value": "a", "role": "viewer", "scope": {"workflow": "w"}}]}, "/rules/0/scope"),
        ({"rules": [{"value": 1}]}, "/rules/0/value"),
        ({"secret": "x"}, ""),
    ],
)
def test_mistakes_are_refused_where_they_are(changes, pointer):
    with pytest.raises(InvalidIdentityProvider) as refusal:
        parse(**changes)

    assert [error.pointer for error in refusal.value.errors] == [pointer]


def test_entra_tenants_have_issuers_of_their_own():
    provider = parse(
        kind="entra", issuer="https://login.microsoftonline.com/{tenantid}/v2.0", tenants=[TENANT]
    )

    assert provider.metadata_issuer == "https://login.microsoftonline.com/organizations/v2.0"
    assert provider.issuer_for({"tid": TENANT}) == f"https://login.microsoftonline.com/{TENANT}/v2.0"


def test_a_file_has_several_providers_and_their_secrets(tmp_path):
    (tmp_path / "secret").write_text("from a file\n")
    text = f"""
providers:
- slug: work
  issuer: https://login.example.com
  client_id: cp
  client_secret_file: {tmp_path}/secret
- slug: guests
  issuer: https://guests.example.com
  client_id: cp
  client_secret: in place
  rules:
  - value: cp-*
    role: viewer
    scope: {{project: "*"}}
"""
    work, guests = parse_providers(text)

    assert (work.client_secret, guests.client_secret) == ("from a file", "in place")
    assert guests.source is ProviderSource.SETTING
    assert "in place" not in repr(guests)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- slug: work", "list `providers`"),
        ("providers: 5", "list `providers`"),
        ("providers: [5]", "must be an object"),
        ("providers: [{slug: work}]", "issuer"),
        ("providers: [{slug: a, issuer: 'https://a.example', client_id: c, client_secret: 5}]", "strings"),
        ("providers: [{slug: a, client_secret_file: /nowhere/at/all}]", "cannot be read"),
        ("a: [", "Line 2"),
    ],
)
def test_a_bad_file_names_the_mistake(text, message):
    with pytest.raises(ValueError, match=message):
        parse_providers(text)


def test_two_providers_cannot_have_one_name():
    entry = "{slug: a, issuer: 'https://a.example', client_id: c}"
    with pytest.raises(ValueError, match="same slug"):
        parse_providers(f"providers: [{entry}, {entry}]")


def test_a_single_provider_comes_from_the_environment():
    assert single_provider(issuer="", client_id="x", client_secret="") == []
    (provider,) = single_provider(issuer="https://login.example.com", client_id="cp", client_secret="s")
    assert (provider.slug, provider.client_secret) == ("oidc", "s")
    with pytest.raises(ValueError, match="OIDC_ISSUER"):
        single_provider(issuer="nonsense", client_id="cp", client_secret="")


ENDPOINTS = {
    "authorization_endpoint": "https://login.example.com/auth",
    "token_endpoint": "https://login.example.com/token",
    "jwks_uri": "https://login.example.com/keys",
}


@pytest.mark.parametrize(
    "change",
    [
        {"token_endpoint": "http://login.example.com/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
        {"end_session_endpoint": 5},
    ],
)
def test_a_discovery_document_without_secure_endpoints_is_refused(change):
    with pytest.raises(ValueError, match="is not an https:// URL"):
        parse_metadata({**ENDPOINTS, **change})


def test_a_discovery_document_states_how_clients_authenticate():
    metadata = parse_metadata({**ENDPOINTS, "token_endpoint_auth_methods_supported": ["client_secret_post"]})

    assert not metadata.takes_basic
    assert parse_metadata(ENDPOINTS).takes_basic
