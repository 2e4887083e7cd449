"""Which signed tokens are accepted, and that a refusal names the claim and never its value."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import pytest
from joserfc import jwk

from controlplane.access.issuers.public_keys import read_keys
from controlplane.access.issuers.verify import (
    Expectations,
    JwtRefused,
    KeyMissing,
    read_token,
    verify,
)
from tests.support.token_issuer import RSA_KEY, sign

NOW = int(time.time())
ISSUER = "https://issuer.example"
CLAIMS = {"iss": ISSUER, "aud": "controlplane", "sub": "ada", "iat": NOW, "nbf": NOW, "exp": NOW + 600}
EXPECTED = Expectations(ISSUER, frozenset({"controlplane"}), max_age=900)
OTHER_KEY = jwk.ECKey.generate_key("P-256", {"kid": "rsa-1"})
EC_KEY = jwk.ECKey.generate_key("P-256", {"kid": "ec-1"})
SECOND_EC_KEY = jwk.ECKey.generate_key("P-256", {"kid": "ec-2"})
ED_KEY = jwk.OKPKey.generate_key("Ed25519", {"kid": "ed-1"})
KEYS = read_keys(
    {
        "keys": [
            {**RSA_KEY.as_dict(private=False), "alg": "RS256", "use": "sig"},
            EC_KEY.as_dict(private=False),
            SECOND_EC_KEY.as_dict(private=False),
            ED_KEY.as_dict(private=False),
        ]
    }
)


def b64(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def hs256_with_public_key() -> str:
    """The classic confusion: the public key, which everybody knows, as the secret of an HMAC."""
    signed = f"{b64({'alg': 'HS256', 'typ': 'JWT', 'kid': 'rsa-1'})}.{b64(CLAIMS)}"
    digest = hmac.new(RSA_KEY.as_pem(private=False), signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{b64(digest)}"


def resigned(**changes: Any) -> str:
    claims = {name: value for name, value in {**CLAIMS, **changes}.items() if value is not None}
    return sign(claims, RSA_KEY)


def cut(token: str, part: int, text: str) -> str:
    parts = token.split(".")
    parts[part] = text
    return ".".join(parts)


GOOD = resigned()
EVIL = "https://evil.example/keys"
FORGED: dict[str, tuple[str, str]] = {
    "algorithm none": (f"{b64({'alg': 'none'})}.{b64(CLAIMS)}.", "token"),
    "algorithm none with a signature": (f"{b64({'alg': 'none'})}.{b64(CLAIMS)}.AAAA", "header.alg"),
    "algorithm None": (f"{b64({'alg': 'None'})}.{b64(CLAIMS)}.AAAA", "header.alg"),
    "HMAC with the public key": (hs256_with_public_key(), "header.alg"),
    "no algorithm": (f"{b64({'typ': 'JWT'})}.{b64(CLAIMS)}.AAAA", "header.alg"),
    "algorithm that is a list": (f"{b64({'alg': ['RS256']})}.{b64(CLAIMS)}.AAAA", "header.alg"),
    "another algorithm than the key's": (sign(CLAIMS, RSA_KEY, alg="PS256"), "header.alg"),
    "another kind of key with the key's id": (sign(CLAIMS, OTHER_KEY, alg="ES256"), "header.alg"),
    "unknown key": (sign(CLAIMS, RSA_KEY, kid="other"), "header.kid"),
    "no key id": (sign(CLAIMS, EC_KEY, alg="ES256", kid=None), "header.kid"),
    "key id that is a number": (f"{b64({'alg': 'RS256', 'kid': 1})}.{b64(CLAIMS)}.AAAA", "header.kid"),
    "header jku": (sign(CLAIMS, RSA_KEY, jku=EVIL), "header.jku"),
    "header x5u": (sign(CLAIMS, RSA_KEY, x5u=EVIL), "header.x5u"),
    "header jwk": (sign(CLAIMS, RSA_KEY, jwk=RSA_KEY.as_dict(private=False)), "header.jwk"),
    "header x5c": (f"{b64({'alg': 'RS256', 'x5c': ['AA']})}.{b64(CLAIMS)}.AAAA", "header.x5c"),
    "critical header": (
        f"{b64({'alg': 'RS256', 'kid': 'rsa-1', 'crit': ['exp'], 'exp': 1})}.{b64(CLAIMS)}.AAAA",
        "header.crit",
    ),
    "type of a logout token": (sign(CLAIMS, RSA_KEY, typ="logout+jwt"), "header.typ"),
    "type that is a list": (f"{b64({'alg': 'RS256', 'typ': []})}.{b64(CLAIMS)}.AAAA", "signature"),
    "changed claims": (cut(GOOD, 1, b64({**CLAIMS, "sub": "root"})), "signature"),
    "changed signature": (cut(GOOD, 2, b64(b"\0" * 256)), "signature"),
    "wrong issuer": (resigned(iss=f"{ISSUER}/"), "iss"),
    "no issuer": (resigned(iss=None), "iss"),
    "wrong audience": (resigned(aud="another"), "aud"),
    "wrong audiences": (resigned(aud=["another", "controlplane2"]), "aud"),
    "audience that is a number": (resigned(aud=7), "aud"),
    "no audience": (resigned(aud=None), "aud"),
    "expired": (resigned(exp=NOW - 61), "exp"),
    "no expiry": (resigned(exp=None), "exp"),
    "expiry that is a text": (resigned(exp=str(NOW + 600)), "exp"),
    "expiry beyond all years": (resigned(exp=10**30), "exp"),
    "expiry that is true": (resigned(exp=True), "exp"),
    "not valid yet": (resigned(nbf=NOW + 61), "nbf"),
    "issued in the future": (resigned(iat=NOW + 61), "iat"),
    "issued too long ago": (resigned(iat=NOW - 901), "iat"),
    "no time of issue": (resigned(iat=None), "iat"),
    "no subject": (resigned(sub=None), "sub"),
    "subject that is a number": (resigned(sub=7), "sub"),
    "repeated claim": (cut(GOOD, 1, b64(json.dumps(CLAIMS)[:-1].encode() + b', "sub": "root"}')), "claims"),
    "claims that are a list": (cut(GOOD, 1, b64([CLAIMS])), "claims"),
    "too large": (resigned(padding="x" * 20_000), "token"),
    "four parts": (GOOD + ".AAAA", "token"),
    "padding": (GOOD + "=", "token"),
    "deep claims": (cut(GOOD, 1, b64(b"[" * 5000)), "claims"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_token_is_refused_for_its_reason(name):
    text, part = FORGED[name]

    with pytest.raises(JwtRefused) as refusal:
        verify(read_token(text), KEYS, EXPECTED, now=NOW)

    assert refusal.value.part == part
    for value in ("ada", "evil.example", "another", str(NOW)):
        assert value not in refusal.value.reason


@pytest.mark.parametrize(
    ("key", "alg"), [(RSA_KEY, "RS256"), (EC_KEY, "ES256"), (ED_KEY, "EdDSA")], ids=["RSA", "EC", "Ed25519"]
)
def test_a_token_of_each_kind_of_key_is_accepted(key, alg):
    assert verify(read_token(sign(CLAIMS, key, alg=alg)), KEYS, EXPECTED, now=NOW) == CLAIMS


@pytest.mark.parametrize("changes", [{"exp": NOW - 59}, {"nbf": NOW + 60}, {"iat": NOW + 60}, {"nbf": None}])
def test_clocks_may_differ_by_a_minute(changes):
    assert verify(read_token(resigned(**changes)), KEYS, EXPECTED, now=NOW)["sub"] == "ada"


def test_ps256_is_accepted_where_the_key_does_not_name_its_algorithm():
    keys = read_keys({"keys": [RSA_KEY.as_dict(private=False)]})

    assert verify(read_token(sign(CLAIMS, RSA_KEY, alg="PS256")), keys, EXPECTED, now=NOW)


@pytest.mark.parametrize(
    ("claims", "part"),
    [
        ({"aud": ["controlplane"], "azp": "console"}, None),
        ({"aud": ["controlplane", "other"], "azp": "console"}, None),
        ({"aud": ["controlplane"]}, None),
        ({"aud": ["controlplane"], "azp": "other"}, "azp"),
        ({"aud": ["controlplane", "other"]}, "azp"),
    ],
)
def test_the_authorized_party_is_checked_where_one_is_expected(claims, part):
    expectations = Expectations(ISSUER, frozenset({"controlplane"}), authorized_party="console")
    token = read_token(resigned(**claims))

    if part is None:
        assert verify(token, KEYS, expectations, now=NOW)
        return
    with pytest.raises(JwtRefused) as refusal:
        verify(token, KEYS, expectations, now=NOW)
    assert refusal.value.part == part


def test_a_token_without_key_id_is_accepted_if_one_key_fits():
    assert verify(read_token(sign(CLAIMS, ED_KEY, alg="EdDSA", kid=None)), KEYS, EXPECTED, now=NOW)


def test_an_unknown_key_id_can_be_told_from_a_bad_signature():
    with pytest.raises(KeyMissing):
        verify(read_token(sign(CLAIMS, RSA_KEY, kid="new")), KEYS, EXPECTED, now=NOW)


def test_keys_that_cannot_verify_are_omitted():
    public = RSA_KEY.as_dict(private=False)
    weak = jwk.RSAKey.generate_key(1024, {"kid": "weak"}).as_dict(private=False)
    unusable: list[Any] = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "rsa-1"},
        {**public, "use": "enc"},
        {**public, "key_ops": ["encrypt"]},
        {"kty": "RSA", "n": "?", "e": "AQAB"},
        {"kty": "RSA"},
        {"kty": "EC", "crv": "P-999"},
        "no object",
        weak,
    ]

    assert read_keys({"keys": unusable}) == ()
    assert [key.id for key in read_keys({"keys": [*unusable, public]})] == ["rsa-1"]


@pytest.mark.parametrize("document", [None, [], {}, {"keys": {}}, {"keys": [{}] * 101}])
def test_a_document_that_is_no_key_set_is_refused(document):
    with pytest.raises(ValueError, match="keys"):
        read_keys(document)
