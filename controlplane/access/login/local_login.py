"""Who may log in with a password. Pure."""

from __future__ import annotations

from enum import StrEnum


class LocalLogin(StrEnum):
    """Values of LOCAL_LOGIN."""

    ADMINS = "admins"
    ALL = "all"
    OFF = "off"


def parse_local_login(raw: str) -> LocalLogin:
    """Return the setting's value. Raises ValueError."""
    try:
        return LocalLogin(raw)
    except ValueError as error:
        raise ValueError(f"{raw!r} is not one of: {', '.join(LocalLogin)}") from error


def may_use_password(mode: LocalLogin, *, has_provider: bool, is_admin: bool) -> bool:
    """True if the person may log in with a password. Without a provider, nobody is restricted."""
    if not has_provider or mode == LocalLogin.ALL:
        return True
    return mode == LocalLogin.ADMINS and is_admin


def shows_password_form(mode: LocalLogin, *, has_provider: bool) -> bool:
    """True if the login page offers a password form at all."""
    return not has_provider or mode != LocalLogin.OFF
