"""Access tokens of external issuers authenticate requests; forged ones do not, and reach no foreign host."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from joserfc import jwk

from controlplane.access import principals
from controlplane.access.issuers import external_tokens
from controlplane.access.issuers.external_issuers import parse_issuers
from controlplane.access.login.oidc.claims import ClaimRule
from controlplane.access.login.oidc.identities import link_identity
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.models import Principal, PrincipalKind, Token
from tests.support.api_client import ACTOR, Api, make_principal
from tests.support.token_issuer import RSA_KEY, TokenIssuer, running_issuer, sign
from tests.unit.controlplane.access.issuers.test_verify import b64

OURS = "https://controlplane.example"
OTHER_KEY = jwk.ECKey.generate_key("P-256", {"kid": "rsa-1"})


@pytest.fixture(autouse=True)
def configuration(issuer, settings):
    entry = {
        "issuer": issuer.url,
        "allowed_audience": OURS,
        "console_client_id": "console",
        "clients": {"deployer": "ci"},
    }
    settings.OUTGOING_ALLOWED_NETWORKS = []
    settings.AUTH_SERVER = frozenset({"external"})
    settings.EXTERNAL_ISSUERS = parse_issuers(json.dumps([entry]))
    external_tokens.forget_verified_tokens()


@pytest.fixture
def service(db):
    return make_principal("editor", name="ci")


@pytest.fixture
def person(issuer, db):
    ada = principals.create_principal("ada", kind=PrincipalKind.PERSON, actor=ACTOR)
    link_identity(ada, issuer.url, "u-1", actor=ACTOR)
    return ada


def service_token(issuer: TokenIssuer, **claims: Any) -> str:
    return issuer.token(**{"aud": OURS, "sub": "deployer", "azp": "deployer", "scope": "all", **claims})


def test_a_client_of_the_issuer_acts_as_its_service(issuer, service):
    answer = Api(service_token(issuer)).get("me")

    assert answer.json()["name"] == "ci"
    assert Api(service_token(issuer, sub="x", azp="other")).get("me").status_code == 401


def test_a_person_of_the_issuer_acts_as_their_identity(issuer, person):
    token = issuer.token(aud=OURS, sub="u-1", azp="deployer", email="ada@example.com", scope="all")

    assert Api(token).get("me").json()["name"] == "ada"
    stranger = issuer.token(aud=OURS, sub="u-2", email="ada@example.com", preferred_username="ada")
    assert "no account" in Api(stranger).get("me").json()["detail"]


@pytest.fixture
def provider(issuer, settings):
    """The issuer is also where people log in."""
    rule = ClaimRule("groups", "writers", role="editor")
    settings.IDENTITY_PROVIDERS = [Provider("idp", issuer.url, "console", rules=(rule,))]
    settings.JIT = True


def may_write(token: str) -> bool:
    return Api(token).post("me:can-i", {"action": "override.write"}).json()["allowed"]


def person_token(issuer: TokenIssuer, **claims: Any) -> str:
    return issuer.token(**{"aud": OURS, "sub": "u-1", "email": "ada@example.com", "scope": "all", **claims})


def test_the_claims_of_a_new_token_change_the_persons_roles(issuer, person, provider):
    make_principal("admin")
    assert may_write(person_token(issuer, groups=["writers"]))
    # A token that says nothing about groups changes nothing.
    assert may_write(person_token(issuer))
    assert not may_write(person_token(issuer, groups=[]))


@pytest.mark.parametrize(("jit", "status"), [(True, 200), (False, 401)])
def test_an_unknown_person_of_a_provider_gets_an_account_if_the_operator_wants_it(
    issuer, db, provider, settings, jit, status
):
    settings.JIT = jit

    answer = Api(person_token(issuer, sub="u-9", preferred_username="grace")).get("me")

    assert answer.status_code == status
    assert Principal.objects.filter(name="grace", kind="person").exists() is jit


@pytest.mark.parametrize(
    ("claims", "may_write"),
    [
        ({"scope": "all"}, True),
        ({"scope": None}, True),
        ({"scope": None, "scp": ["overrides", "openid"]}, True),
        ({"scope": None, "roles": ["overrides"]}, True),
        ({"scope": "read offline"}, False),
        ({"scope": "openid profile"}, False),
        ({"scope": ""}, False),
        ({"scope": None, "scp": {"all": True}}, False),
    ],
)
def test_the_scopes_of_the_token_limit_the_roles(issuer, service, claims, may_write):
    question = {"action": "override.write", "scope": {"project": "ads"}}

    answer = Api(service_token(issuer, **claims)).post("me:can-i", question)

    assert answer.json()["allowed"] is may_write


def test_a_disabled_principal_is_refused_although_its_token_was_verified(issuer, service):
    caller = Api(service_token(issuer))
    assert caller.get("me").status_code == 200
    make_principal("admin")

    principals.set_active("ci", is_active=False, actor=ACTOR)

    assert caller.get("me").status_code == 401


def test_a_token_is_verified_once_and_its_keys_are_read_once(issuer, service):
    caller = Api(service_token(issuer))
    for _ in range(5):
        assert caller.get("me").status_code == 200

    assert issuer.requests == ["/.well-known/openid-configuration", "/jwks"]


def test_a_token_is_refused_some_time_after_its_issue(issuer, service, settings):
    now = int(time.time())
    settings.EXTERNAL_MAX_AGE = 900

    assert Api(service_token(issuer, iat=now - 890, exp=now + 9000)).get("me").status_code == 200
    assert Api(service_token(issuer, iat=now - 910, exp=now + 9000)).get("me").status_code == 401


def test_a_token_made_with_an_external_one_ends_with_it(issuer, service):
    caller = Api(service_token(issuer))

    assert (
        caller.post("tokens", {"name": "for ever", "expires_at": "2030-01-01T00:00:00Z"}).status_code == 400
    )
    assert caller.post("tokens", {"name": "short"}).status_code == 201
    assert Token.objects.get(name="short").expires_at.timestamp() <= time.time() + 900


def test_without_the_setting_no_jwt_is_accepted(issuer, service, settings):
    settings.AUTH_SERVER = frozenset({"self"})

    assert Api(service_token(issuer)).get("me").status_code == 401
    assert issuer.requests == []


def test_nothing_is_accepted_while_the_keys_cannot_be_read(issuer, service):
    issuer.is_down = True

    answer = Api(service_token(issuer)).get("me")

    assert (answer.status_code, answer.json()["code"]) == (503, "issuer_unavailable")
    assert int(answer["Retry-After"]) > 0


ID_CLAIMS = {"aud": "console", "azp": "console", "nonce": "n", "email": "ada@example.com", "sub": "u-1"}


def test_an_id_token_is_accepted_by_flytes_scheme_alone(issuer, person, client):
    id_token = issuer.token(**ID_CLAIMS)
    path = "/api/v1/projects"

    assert client.get(path, headers={"Authorization": f"IDToken {id_token}"}).status_code == 200
    assert client.get(path, headers={"Authorization": f"Bearer {id_token}"}).status_code == 401
    assert client.get("/api/v1/me", headers={"Authorization": f"IDToken {id_token}"}).status_code == 401


@pytest.mark.parametrize(
    "claims", [{"nonce": "n", "aud": [OURS, "console"]}, {"at_hash": "x"}, {"typ": "ID"}]
)
def test_an_id_token_for_our_audience_is_no_access_token(issuer, service, claims):
    answer = Api(service_token(issuer, **claims)).get("me")

    assert "ID token" in answer.json()["detail"]


def forgeries(issuer: TokenIssuer, foreign: TokenIssuer) -> dict[str, str]:
    """Tokens that must be refused; `foreign` is where an attacker would like us to fetch keys."""
    now = int(time.time())
    good = issuer.claims(aud=OURS, sub="deployer", azp="deployer", scope="all")
    head, body, signature = sign(good, RSA_KEY).split(".")
    keys = f"{foreign.url}/jwks"

    def changed(**claims: Any) -> str:
        return sign({name: value for name, value in {**good, **claims}.items() if value is not None}, RSA_KEY)

    return {
        "none": f"{b64({'alg': 'none'})}.{body}.",
        "none with a signature": f"{b64({'alg': 'none', 'kid': 'rsa-1'})}.{body}.{signature}",
        "HMAC with the public key": sign(
            good, jwk.OctKey.import_key(RSA_KEY.as_pem(private=False).hex(), {"kid": "rsa-1"}), alg="HS256"
        ),
        "another algorithm than the header's": f"{b64({'alg': 'PS256', 'kid': 'rsa-1'})}.{body}.{signature}",
        "own key with the issuer's id": sign(good, OTHER_KEY, alg="ES256"),
        "unknown key": sign(good, OTHER_KEY, alg="ES256", kid="other"),
        "jku": sign(good, OTHER_KEY, alg="ES256", jku=keys),
        "x5u": sign(good, OTHER_KEY, alg="ES256", x5u=keys),
        "jwk": sign(good, OTHER_KEY, alg="ES256", jwk=OTHER_KEY.as_dict(private=False)),
        "jku with the issuer's signature": sign(good, RSA_KEY, jku=keys),
        "critical header": f"{b64({'alg': 'RS256', 'kid': 'rsa-1', 'crit': ['x']})}.{body}.{signature}",
        "type of another purpose": sign(good, RSA_KEY, typ="logout+jwt"),
        "changed claims": f"{head}.{b64({**good, 'sub': 'root'})}.{signature}",
        "no signature": f"{head}.{body}.",
        "signature of zeros": f"{head}.{body}.{b64(bytes(256))}",
        "foreign issuer": sign({**good, "iss": foreign.url}, RSA_KEY),
        "issuer with a slash": changed(iss=f"{issuer.url}/"),
        "no issuer": changed(iss=None),
        "wrong audience": changed(aud="https://other.example"),
        "audience that begins like ours": changed(aud=f"{OURS}.evil.example"),
        "no audience": changed(aud=None),
        "expired": changed(exp=now - 61),
        "no expiry": changed(exp=None),
        "not valid yet": changed(nbf=now + 120),
        "issued in the future": changed(iat=now + 120),
        "no subject": changed(sub=None),
        "ID token": changed(nonce="n", aud=[OURS, "console"]),
        "wrong client": changed(sub="x", azp="unknown"),
        "huge": changed(padding="x" * 20_000),
    }


def test_forged_tokens_are_refused_and_no_foreign_host_is_asked(issuer, service):
    with running_issuer() as foreign:
        forged = forgeries(issuer, foreign)
        answers = {name: Api(token).get("me") for name, token in forged.items()}

        assert len(forged) >= 20
        assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(forged, 401)
        assert foreign.requests == []
    assert set(issuer.requests) == {"/.well-known/openid-configuration", "/jwks"}
    assert len(issuer.requests) <= 3
    for name, answer in answers.items():
        assert forged[name] not in answer.content.decode()
    assert Api(service_token(issuer)).get("me").status_code == 200


def test_flytes_clients_send_such_tokens_too(issuer, service, client):
    headers = {"Authorization": f"Bearer {service_token(issuer)}"}

    assert client.get("/api/v1/projects", headers=headers).status_code == 200
    expired = {"Authorization": f"Bearer {service_token(issuer, exp=1)}"}
    assert client.get("/api/v1/projects", headers=expired).status_code == 401


def test_events_can_be_read_with_such_a_token(issuer, service):
    assert Api(service_token(issuer)).get("events").status_code == 200
