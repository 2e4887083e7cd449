"""Keys of NATS and what they sign."""

from __future__ import annotations

import pytest

from controlplane.messaging.logins.callout import Grant, Permissions, accept, read_request, refuse
from controlplane.messaging.logins.nkeys import AccountKey, check_seed, new_seed, read_claims

RAW = bytes(range(32)).hex()


def test_a_seed_is_an_nkey_or_hexadecimal() -> None:
    key = AccountKey(RAW)
    assert key.public.startswith("A")
    assert len(key.public) == 56
    assert AccountKey(RAW).public == key.public
    assert AccountKey(new_seed()).public != AccountKey(new_seed()).public


@pytest.mark.parametrize(
    "seed",
    ["x", "SU" + "A" * 56, new_seed()[:-1] + "=", new_seed().lower(), "0" * 63],
    ids=["short", "another kind", "not base32", "lower case", "no letters"],
)
def test_what_is_not_a_seed_is_refused(seed: str) -> None:
    with pytest.raises(ValueError, match="nkey seed"):
        check_seed(seed)


def test_a_changed_letter_is_noticed() -> None:
    seed = new_seed()
    wrong = seed[:20] + ("A" if seed[20] != "A" else "B") + seed[21:]
    with pytest.raises(ValueError, match="nkey seed"):
        AccountKey(wrong)


def request_token(**facts: object) -> bytes:
    nats = {
        "user_nkey": "UABC",
        "server_id": {"id": "NDEF"},
        "client_info": {"id": 7, "host": "10.0.0.1"},
        "connect_opts": {"user": "alpha", "pass": "secret"},
    }
    return AccountKey(RAW).sign({"iat": 100, "nats": {**nats, **facts}}).encode()


def test_a_login_is_read_and_answered() -> None:
    request = read_request(request_token())
    assert (request.user, request.password, request.host) == ("alpha", "secret", "10.0.0.1")
    assert (request.server_id, request.client_id, request.asked_at) == ("NDEF", 7, 100)
    assert "secret" not in repr(request)

    key = AccountKey(RAW)
    grant = Grant("AGENTS", "alpha", Permissions(("a",), ("b",)), seconds=50)
    answer = read_claims(accept(key, request, grant).decode())
    assert (answer["aud"], answer["sub"], answer["iss"]) == ("NDEF", "UABC", key.public)
    user = read_claims(answer["nats"]["jwt"])
    assert (user["aud"], user["exp"], user["nats"]["pub"]) == ("AGENTS", 150, {"allow": ["a"]})
    refusal = read_claims(refuse(key, request, "no").decode())
    assert refusal["nats"]["error"] == "no"


@pytest.mark.parametrize(
    "body", [b"", b"a.b", b"a.e30.c", b"a.W10.c", b"\xff.e30.c", request_token(client_info=None)]
)
def test_an_unreadable_request_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (its text depends on what is wrong)
        read_request(body)
