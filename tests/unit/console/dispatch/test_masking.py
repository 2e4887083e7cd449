"""Secrets in payloads are masked by name and by form, and nothing else is."""

import pytest

from console.dispatch.masking import MASK, is_secret_name, masked


@pytest.mark.parametrize(
    "name",
    ["password", "DB_PASSWORD", "dbPassword", "api-key", "clientSecret", "auth_token", "Authorization"],
)
def test_names_of_secrets(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["secretName", "secretKeyRef", "image", "passwordPolicy", "tokenizer", "key"]
)
def test_names_that_are_about_secrets_and_have_none(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"password": "x", "image": "y"}, {"password": MASK, "image": "y"}),
        ({"pin_password": 4711}, {"pin_password": MASK}),
        ({"max_tokens": 512, "token": None}, {"max_tokens": 512, "token": None}),
        ({"tokens": ["a", "b"]}, {"tokens": [MASK, MASK]}),
        (
            {"credentials": {"username": "bob", "value": "x", "more": {"deep": "y"}}},
            {"credentials": {"username": "bob", "value": MASK, "more": {"deep": MASK}}},
        ),
        (
            [{"name": "DB_PASSWORD", "value": "x"}, {"name": "HOST", "value": "db"}],
            [{"name": "DB_PASSWORD", "value": MASK}, {"name": "HOST", "value": "db"}],
        ),
        (
            {"valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
            {"valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
        ),
        ("postgres://bob:x@db/orders", f"postgres://bob:{MASK}@db/orders"),
        ("curl -H 'Authorization: Bearer abcdefgh12345'", f"curl -H 'Authorization: Bearer {MASK}'"),
        ("cp_agt_3fZaQQQQQQQQ", "cp_agt_3fZa…"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nend", f"{MASK}\nend"),
        ("No quota left.", "No quota left."),
        (None, None),
        (True, True),
    ],
)
def test_what_is_shown(value, shown):
    assert masked(value) == shown
