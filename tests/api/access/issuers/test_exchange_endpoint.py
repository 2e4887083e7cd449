"""Workloads exchange their tokens at the token endpoint, without any client secret."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.test import Client

from controlplane.access.federation.exchange_grants import JWT_BEARER, TOKEN_EXCHANGE
from controlplane.access.issuer_models import TrustedIssuer
from controlplane.access.models import AuditRecord, Token
from tests.support.api_client import Api, make_principal

OURS = "https://controlplane.example"
SUBJECT = "repo:acme/app:ref:refs/heads/main"
JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt"


@pytest.fixture(autouse=True)
def trusted(issuer, db, settings):
    settings.AUTH_SERVER = frozenset({"self"})
    settings.PUBLIC_URL = OURS
    make_principal("editor", name="deployer")
    rule = {"match": {"sub": SUBJECT}, "principal": "deployer", "ttl": 600, "scopes": ["overrides", "read"]}
    return TrustedIssuer.objects.create(issuer=issuer.url, audiences=[OURS], rules=[rule], max_ttl=3600)


def subject_token(issuer, **claims):
    return issuer.token(**{"aud": OURS, "sub": SUBJECT, "jti": str(uuid4()), **claims})


def request_token(**parameters):
    return Client().post(
        "/oauth2/token", urlencode(parameters), content_type="application/x-www-form-urlencoded"
    )


def exchange(text, **parameters):
    fields = {"grant_type": TOKEN_EXCHANGE, "subject_token": text, "subject_token_type": JWT_TYPE}
    return request_token(**fields | parameters)


def test_a_token_exchange_is_answered_as_rfc_8693_says(issuer):
    answer = exchange(subject_token(issuer), audience=OURS, scope="overrides")

    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    body = answer.json()
    assert body["access_token"].startswith("cp_oat_")
    assert (body["token_type"], body["scope"]) == ("Bearer", "overrides")
    assert body["issued_token_type"] == "urn:ietf:params:oauth:token-type:access_token"
    assert 590 < body["expires_in"] <= 600
    assert "refresh_token" not in body
    assert Api(body["access_token"]).get("me").json()["name"] == "deployer"
    actions = AuditRecord.objects.values_list("action", flat=True)
    assert {"federation.exchanged", "oauth.token_issued"} <= set(actions)


def test_a_jwt_bearer_assertion_is_answered_too(issuer):
    answer = request_token(grant_type=JWT_BEARER, assertion=subject_token(issuer))

    assert answer.status_code == 200
    assert answer.json()["scope"] == "overrides read"
    assert "issued_token_type" not in answer.json()


@pytest.mark.parametrize(
    ("claims", "parameters", "error"),
    [
        ({}, {"subject_token_type": "urn:ietf:params:oauth:token-type:saml2"}, "invalid_request"),
        ({}, {"requested_token_type": JWT_TYPE}, "invalid_request"),
        ({}, {"actor_token": "x"}, "invalid_request"),
        ({}, {"audience": "https://other.example"}, "invalid_target"),
        ({}, {"scope": "all"}, "invalid_scope"),
        ({"sub": "repo:acme/app:pull_request"}, {}, "invalid_grant"),
        ({"aud": "https://other.example"}, {}, "invalid_grant"),
    ],
)
def test_a_refusal_has_the_error_of_its_reason_and_gives_no_token(issuer, claims, parameters, error):
    answer = exchange(subject_token(issuer, **claims), **parameters)

    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert "pull_request" not in answer.content.decode()
    assert not Token.objects.filter(principal__name="deployer").exists()


def test_a_refusal_is_recorded_although_nothing_was_issued(issuer):
    exchange(subject_token(issuer, sub="repo:acme/app:pull_request"))

    assert AuditRecord.objects.filter(action="federation.refused").count() == 1


def test_a_replayed_token_is_refused(issuer):
    text = subject_token(issuer)
    exchange(text)

    assert exchange(text).json()["error"] == "invalid_grant"


def test_an_unreachable_issuer_is_an_answer_and_no_failure(issuer):
    issuer.is_down = True

    answer = exchange(subject_token(issuer))

    assert (answer.status_code, answer.json()["error"]) == (503, "temporarily_unavailable")


def test_the_metadata_name_both_grants(issuer):
    document = Client().get("/.well-known/oauth-authorization-server").json()

    assert {TOKEN_EXCHANGE, JWT_BEARER} <= set(document["grant_types_supported"])
