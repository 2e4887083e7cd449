"""ID tokens and logout tokens: what is checked beyond the signature."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
from authlib.oidc.core.util import create_half_hash

from controlplane.access.issuers.verify import JwtRefused
from controlplane.access.login.login_details import LoginDetails, from_claims
from controlplane.access.login.oidc.claims import ClaimRule
from controlplane.access.login.oidc.id_tokens import (
    LoginAnswer,
    check_id_token,
    is_incomplete,
    with_userinfo,
)
from controlplane.access.login.oidc.login_secrets import LoginSecrets
from controlplane.access.login.oidc.logout_tokens import EVENT, read_logout
from controlplane.access.login.oidc.provider import Provider
from controlplane.errors import LoginRefused

PROVIDER = Provider("work", "https://login.example.com", "cp")
ANSWER = LoginAnswer("the-nonce", "the-access-token", "RS256")
CLAIMS = {"iss": PROVIDER.issuer, "sub": "s1", "nonce": "the-nonce"}
LOGOUT = {"iss": PROVIDER.issuer, "sub": "s1", "sid": "x", "jti": "j1", "events": {EVENT: {}}}
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def half_hash(algorithm):
    return create_half_hash(ANSWER.access_token, algorithm).decode()


def test_the_nonce_and_the_hash_of_the_access_token_are_checked():
    check_id_token(PROVIDER, CLAIMS, ANSWER)
    check_id_token(PROVIDER, {**CLAIMS, "at_hash": half_hash("RS256")}, ANSWER)


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": 5},
        {"at_hash": "another"},
        {"at_hash": 5},
        {"at_hash": half_hash("EdDSA")},
    ],
)
def test_a_token_of_another_login_is_refused(change):
    with pytest.raises(LoginRefused, match="does not belong to this login"):
        check_id_token(PROVIDER, {**CLAIMS, **change}, ANSWER)


def test_userinfo_is_asked_only_for_what_is_missing_and_must_be_of_the_same_person():
    ruled = Provider("work", PROVIDER.issuer, "cp", rules=(ClaimRule("groups", "a", role="viewer"),))

    assert not is_incomplete(PROVIDER, {"email": "a@example.com"})
    assert is_incomplete(PROVIDER, {})
    assert is_incomplete(ruled, {"email": "a@example.com"})
    assert not is_incomplete(ruled, {"email": "a@example.com", "groups": []})
    assert with_userinfo({"sub": "s1", "name": "A"}, {"sub": "s1", "name": "B", "x": 1}) == {
        "sub": "s1",
        "name": "A",
        "x": 1,
    }
    with pytest.raises(LoginRefused):
        with_userinfo({"sub": "s1"}, {"sub": "s2"})


def test_a_logout_token_names_a_session_or_a_person():
    logout = read_logout(LOGOUT)

    assert (logout.subject, logout.session_id, logout.token_id) == ("s1", "x", "j1")


@pytest.mark.parametrize(
    "change",
    [
        {"events": None},
        {"events": {}},
        {"events": {EVENT: "x"}},
        {"nonce": "n"},
        {"sub": "", "sid": ""},
        {"sub": 5},
    ],
)
def test_what_is_no_logout_token_is_refused(change):
    with pytest.raises(JwtRefused):
        read_logout({**LOGOUT, **change})


def test_the_secrets_of_a_login_differ_and_depend_on_its_cookie():
    login, other = LoginSecrets("cookie"), LoginSecrets("another")
    values = {login.state, login.nonce, login.verifier, other.state, other.nonce, other.verifier}

    assert len(values) == 6
    assert all(len(value) == 43 for value in values)
    assert login.is_state(login.state)
    assert not login.is_state(other.state)
    assert "cookie" not in repr(login)


def test_details_of_a_login_survive_in_a_session():
    claims = {"auth_time": 1_700_000_000, "acr": "gold", "amr": ["pwd", "otp"], "sid": "s"}
    details = from_claims(claims, provider="work", identity_id=UUID(int=1), now=NOW)

    assert LoginDetails.from_session({"_login": details.content()}) == details
    assert details.auth_time == datetime.fromtimestamp(1_700_000_000, UTC)
    assert (details.started_at, details.amr) == (NOW, ("pwd", "otp"))
    assert LoginDetails.from_session({}) is None


@pytest.mark.parametrize("stated", [None, "x", True, NOW.timestamp() + 60, -5])
def test_a_time_of_authentication_that_cannot_be_is_now(stated):
    details = from_claims({"auth_time": stated}, provider="work", identity_id=UUID(int=1), now=NOW)

    assert details.auth_time == NOW
