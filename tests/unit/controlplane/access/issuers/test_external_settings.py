"""The settings of external issuers, and whom their tokens are for."""

from __future__ import annotations

import pytest

from controlplane.access.issuers.external_issuers import parse_issuers
from controlplane.access.issuers.subjects import is_id_token, scopes_of, subject_of


@pytest.mark.parametrize("audience", ["'api://flyte'", "[api://flyte]"])
def test_the_audience_is_a_string_or_a_list(audience):
    text = f"issuers:\n- issuer: https://idp.example\n  allowed_audience: {audience}\n"

    assert parse_issuers(text)["https://idp.example"].audiences == {"api://flyte"}


def test_no_text_means_no_issuer():
    assert parse_issuers("  \n") == {}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: [", "Line 2"),
        ("a: 1", "list"),
        ("- 1", "issuers/0"),
        ("- {}", "issuers/0/issuer"),
        ("- issuer: ftp://idp.example", "issuers/0/issuer"),
        ("- issuer: https://idp.example\n  audience: x", "issuers/0/audience"),
        ("- issuer: https://idp.example\n  allowed_audience: [1]", "issuers/0/allowed_audience"),
        ("- issuer: https://idp.example\n  default_scopes: openid", "issuers/0/default_scopes"),
        ("- issuer: https://idp.example\n  clients: [a]", "issuers/0/clients"),
        ("- issuer: https://idp.example\n  clients: {a: 1}", "issuers/0/clients/a"),
        ("- issuer: https://idp.example\n- issuer: https://idp.example", "issuers/1"),
    ],
)
def test_a_mistake_names_its_place(text, place):
    with pytest.raises(ValueError, match=place):
        parse_issuers(text)


KEYCLOAK_SERVICE = {
    "sub": "6f1c",
    "azp": "Deployer",
    "preferred_username": "service-account-deployer",
    "email_verified": False,
}
KEYCLOAK_PERSON = {"sub": "77aa", "azp": "flytectl", "preferred_username": "ada", "sid": "s"}


@pytest.mark.parametrize(
    ("claims", "client"),
    [
        (KEYCLOAK_SERVICE, "Deployer"),
        ({"sub": "9f", "oid": "9f", "appid": "app-1", "idtyp": "app", "name": "App"}, "app-1"),
        ({"sub": "abc@clients", "azp": "abc", "gty": "client-credentials"}, "abc"),
        ({"sub": "0oa1", "cid": "0oa1", "scp": ["all"]}, "0oa1"),
        ({"sub": "9f", "client_id": "c1"}, "c1"),
    ],
)
def test_tokens_of_clients_are_for_services(claims, client):
    subject = subject_of(claims)

    assert (subject.is_service, subject.client) == (True, client)


@pytest.mark.parametrize(
    "claims",
    [
        KEYCLOAK_PERSON,
        {"sub": "9f", "azp": "flytectl", "email": "ada@example.com"},
        {"sub": "9f", "appid": "app-1", "upn": "ada@example.com"},
        {"sub": "9f"},
        {**KEYCLOAK_SERVICE, "preferred_username": "service-account-other"},
    ],
)
def test_tokens_with_claims_of_a_person_are_for_people(claims):
    assert not subject_of(claims).is_service


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({}, ("read",)),
        ({"scope": "all offline"}, ("all",)),
        ({"scp": ["all", "overrides"]}, ("all", "overrides")),
        ({"scp": "agents", "roles": ["publish:ml", "x"]}, ("agents", "publish:ml")),
        ({"scope": "openid"}, ()),
        ({"scp": 7}, ()),
    ],
)
def test_scopes_come_from_each_claim_that_issuers_use(claims, scopes):
    assert scopes_of(claims, ("read",)) == scopes


@pytest.mark.parametrize(
    ("claims", "audience", "expected"),
    [
        ({"nonce": "n"}, "console", True),
        ({"nonce": "n"}, "api", False),
        ({"at_hash": "h"}, "api", True),
        ({"typ": "ID"}, "api", True),
        ({"typ": "Bearer"}, "console", False),
    ],
)
def test_id_tokens_are_recognized(claims, audience, expected):
    assert is_id_token(claims, frozenset({audience}), "console") is expected
