"""Access tokens that renew themselves, and their end."""

from __future__ import annotations

import fcntl
import time
from dataclasses import replace
from pathlib import Path

from cpctl.contexts import Context, Login, load, read_token, save
from cpctl.oauth.endpoints import post_form, request_token

# Renew this long before the end, so that a token does not expire on its way.
_MARGIN_SECONDS = 60.0


def is_due(login: Login) -> bool:
    """True if the token should be renewed before it is used."""
    return bool(login.refresh_token or login.secret_file) and login.expires_at < time.time() + _MARGIN_SECONDS


def renew(context: Context, path: Path) -> Context:
    """Return the context with a fresh token, and save it. Concurrent commands renew it once."""
    with (path.parent / ".login-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        config = load(path)
        saved = config.contexts.get(context.name, context)
        if saved.login is None or not is_due(saved.login):
            return saved
        token, login = request_token(saved.login, _parameters(saved.login))
        renewed = replace(saved, token=token, login=login)
        save(config.with_context(renewed), path)
        return renewed


def client_parameters(secret_file: str, scope: str) -> dict[str, str]:
    """Return the parameters with which a client asks for a token."""
    return {
        "grant_type": "client_credentials",
        "client_secret": read_token(secret_file),
        "scope": scope,
    }


def _parameters(login: Login) -> dict[str, str]:
    if login.refresh_token:
        return {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    return client_parameters(login.secret_file, login.scope)


def revoke(context: Context) -> None:
    """Revoke the login at the server, with all tokens of it."""
    login = context.login
    if login is not None and login.revocation_endpoint:
        token = login.refresh_token or context.token
        post_form(login.revocation_endpoint, {"client_id": login.client_id, "token": token})
