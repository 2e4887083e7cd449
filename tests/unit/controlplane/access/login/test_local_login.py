"""Who may log in with a password."""

from __future__ import annotations

import pytest

from controlplane.access.login.local_login import LocalLogin, may_use_password, parse_local_login


@pytest.mark.parametrize(
    ("mode", "has_provider", "is_admin", "expected"),
    [
        ("off", False, False, True),
        ("admins", False, False, True),
        ("all", True, False, True),
        ("admins", True, True, True),
        ("admins", True, False, False),
        ("off", True, True, False),
    ],
)
def test_passwords_are_restricted_once_a_provider_exists(mode, has_provider, is_admin, expected):
    assert may_use_password(LocalLogin(mode), has_provider=has_provider, is_admin=is_admin) is expected


def test_an_unknown_mode_names_the_allowed_ones():
    with pytest.raises(ValueError, match="admins, all, off"):
        parse_local_login("some")
