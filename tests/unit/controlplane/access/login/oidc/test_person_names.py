"""Names of people from an identity provider."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.access.login.oidc.person_names import name_of

ISSUER = "https://login.example.com"
LEGAL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._@-]{0,61}[A-Za-z0-9])?")


def name(claims, taken=()):
    return name_of(ISSUER, "s1", claims, lambda candidate: candidate not in taken)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"preferred_username": "ada", "email": "x@example.com"}, "ada"),
        ({"preferred_username": "ada@example.com"}, "ada@example.com"),
        ({"email": "ada.lovelace@example.com"}, "ada.lovelace"),
        ({"preferred_username": "Ada Lovelace"}, "Ada-Lovelace"),
        ({"preferred_username": "--ada--"}, "ada"),
        ({"preferred_username": "система", "email": "ivan@example.com"}, "ivan"),
        ({"preferred_username": 7}, "u-6b0b8ea2ef44"),
        ({"preferred_username": "a" * 80}, "a" * 63),
    ],
)
def test_names_come_from_the_first_usable_claim(claims, expected):
    chosen = name(claims)

    assert chosen == expected or (expected.startswith("u-") and re.fullmatch(r"u-[0-9a-f]{12}", chosen))


def test_a_taken_name_gets_a_number():
    assert name({"preferred_username": "ada"}, {"ada"}) == "ada-2"
    assert name({"preferred_username": "ada"}, {"ada", "ada-2"}) == "ada-3"
    assert name({"preferred_username": "a" * 70}, {"a" * 63}) == "a" * 61 + "-2"


@pytest.mark.parametrize("reserved", ["admin", "Admin", "root", "anonymous"])
def test_nobody_gets_the_name_of_the_first_administrator(reserved):
    assert name({"preferred_username": reserved}) == f"{reserved}-2"


@given(st.text(max_size=100), st.text(max_size=100))
def test_every_name_is_legal(username, email):
    assert LEGAL.fullmatch(name({"preferred_username": username, "email": email}))
