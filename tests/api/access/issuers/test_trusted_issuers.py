"""Trusted issuers: created, replaced, deleted, and explaining how they judge a token."""

from __future__ import annotations

import pytest

from controlplane.access.issuer_models import TrustedIssuer, UsedTokenId
from controlplane.access.models import AuditRecord, Token
from controlplane.events.models import Event
from tests.support.api_client import Api, make_principal, token_for
from tests.support.token_issuer import RSA_KEY, sign

OURS = "https://controlplane.example"
SUBJECT = "system:serviceaccount:prod:agent"


@pytest.fixture(autouse=True)
def service(db):
    return make_principal("editor", name="deployer")


def body(url: str = "https://cluster.example", **fields):
    rule = {"match": {"sub": SUBJECT}, "principal": "deployer"}
    return {"issuer": url, "audiences": [OURS], "rules": [rule], **fields}


def test_a_trusted_issuer_from_its_creation_to_its_end(api):
    created = api.post("trusted-issuers", body())
    issuer = created.json()
    path = f"trusted-issuers/{issuer['id']}"

    assert created.status_code == 201
    assert created["ETag"] == '"v1"'
    assert issuer["rules"][0]["scopes"] == ["all"]
    assert issuer["max_ttl"] == 3600
    assert api.get(path).json() == issuer
    assert api.get("trusted-issuers").json()["items"] == [issuer]
    assert api.put(path, body(max_ttl=900)).status_code == 428
    replaced = api.put(path, body(max_ttl=900), If_Match='"v1"')
    assert (replaced.json()["max_ttl"], replaced["ETag"]) == (900, '"v2"')
    assert api.put(path, body(), If_Match='"v1"').status_code == 412
    assert api.delete(path).status_code == 428
    assert api.delete(path, If_Match='"v2"').status_code == 204
    assert api.get(path).json()["code"] == "unknown_trusted_issuer"
    actions = AuditRecord.objects.filter(object_type="trusted_issuer").order_by("id")
    assert [record.action.partition(".")[2] for record in actions] == ["created", "changed", "deleted"]
    assert Event.objects.filter(type__startswith="trusted_issuer.").count() == 3


def test_a_dry_run_changes_nothing(api):
    assert api.post("trusted-issuers?dry_run=true", body()).status_code == 201
    assert not TrustedIssuer.objects.exists()


def test_an_issuer_is_trusted_once(api):
    api.post("trusted-issuers", body())

    assert api.post("trusted-issuers", body()).json()["code"] == "name_taken"


def test_a_repeated_request_creates_one_issuer(api):
    first = api.post("trusted-issuers", body(), Idempotency_Key="k1").json()

    assert api.post("trusted-issuers", body(), Idempotency_Key="k1").json() == first


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"issuer": "http://cluster.example"}, "/issuer"),
        ({"issuer": "https://user:secret@cluster.example"}, "/issuer"),
        ({"issuer": "https://cluster.example?a=1"}, "/issuer"),
        ({"issuer": "https://cluster.example:99999"}, "/issuer"),
        ({"issuer": "cluster.example"}, "/issuer"),
        ({"jwks_uri": "file:///etc/passwd"}, "/jwks_uri"),
        ({"jwks": {"keys": []}}, "/jwks"),
        ({"jwks": {"keys": [{"kty": "oct", "k": "AAAA"}]}}, "/jwks"),
        ({"jwks": []}, "/jwks"),
        ({"audiences": []}, "/audiences"),
        ({"max_ttl": 3601}, "/max_ttl"),
        ({"rules": [{"match": {"sub": "*"}, "principal": "deployer"}]}, "/rules/0/match"),
        ({"rules": [{"match": {"sub": SUBJECT}, "principal": "nobody"}]}, "/rules/0/principal"),
        ({"rules": [{"match": {"sub": SUBJECT}}]}, "/rules/0"),
        ({"rules": [{"match": {"sub": 7}, "principal": "deployer"}]}, "/rules/0/match/sub"),
        ({"rules": [{"match": {"sub": SUBJECT}, "principal": "deployer", "to": 1}]}, "/rules/0/to"),
    ],
)
def test_an_invalid_issuer_is_refused_with_the_pointer_of_its_error(api, fields, pointer):
    answer = api.post("trusted-issuers", body(**fields))

    assert answer.status_code == 400
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_a_person_cannot_be_the_principal_of_a_rule(api):
    api.post("principals", {"name": "ada", "kind": "person"})
    rule = {"match": {"sub": SUBJECT}, "principal": "ada"}

    assert api.post("trusted-issuers", body(rules=[rule])).status_code == 400


def test_only_administrators_of_everything_see_and_change_issuers(api):
    issuer = api.post("trusted-issuers", body()).json()
    path = f"trusted-issuers/{issuer['id']}"

    for role in ("viewer", "editor", "agent"):
        caller = Api(token_for(role))
        answers = [
            caller.get("trusted-issuers"),
            caller.get(path),
            caller.post("trusted-issuers", body()),
            caller.put(path, body(), If_Match="*"),
            caller.delete(path, If_Match="*"),
            caller.post("trusted-issuers:test", {"token": "a.b.c"}),
        ]
        assert {answer.status_code for answer in answers} == {403}


def test_a_pasted_token_is_explained_and_not_used(api, issuer):
    other = {"match": {"sub": SUBJECT, "kubernetes.io/namespace": "test"}, "principal": "deployer"}
    rule = {"match": {"sub": SUBJECT}, "principal": "deployer", "ttl": 300}
    api.post("trusted-issuers", body(issuer.url, rules=[other, rule]))
    text = issuer.token(aud=OURS, sub=SUBJECT, jti="once")

    explained = api.post("trusted-issuers:test", {"token": text}).json()

    assert explained["accepted"]
    assert (explained["rule"], explained["principal"], explained["expires_in"]) == (1, "deployer", 300)
    assert explained["rules"][0]["missed_claims"] == ["kubernetes.io/namespace"]
    assert not UsedTokenId.objects.exists()
    assert not Token.objects.filter(principal__name="deployer").exists()


def test_an_expired_token_is_explained_too(api, issuer):
    api.post("trusted-issuers", body(issuer.url))
    now = issuer.claims()["iat"]
    text = issuer.token(aud=OURS, sub=SUBJECT, iat=now - 4000, exp=now - 3000)

    explained = api.post("trusted-issuers:test", {"token": text}).json()

    assert (explained["accepted"], explained["refused"]) == (False, "exp")
    assert explained["rules"][0]["matches"]


def test_a_token_that_nobody_signed_explains_nothing(api, issuer):
    api.post("trusted-issuers", body(issuer.url))
    forged = sign(issuer.claims(aud=OURS, sub=SUBJECT), RSA_KEY, kid="unknown")

    explained = api.post("trusted-issuers:test", {"token": forged}).json()

    assert (explained["accepted"], explained["refused"], explained["rules"]) == (False, "header.kid", [])
    assert api.post("trusted-issuers:test", {"token": "cp_pat_x"}).json()["refused"] == "token"
