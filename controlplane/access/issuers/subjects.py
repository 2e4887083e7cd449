"""Whom an access token of an external issuer is for, and what it allows at most. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.identity.ceilings import is_ceiling

_CLIENT = ("client_id", "azp", "appid", "cid")
_SCOPES = ("scp", "scope", "roles")
# Claims that only tokens of people have.
_PERSONAL = (
    *("email", "preferred_username", "upn", "unique_name", "name", "given_name", "family_name", "nickname"),
    *("auth_time", "nonce", "sid"),
)
# Claims by which issuers mark tokens of applications: Entra ID, Auth0.
_APPLICATION = (("idtyp", "app"), ("gty", "client-credentials"))


@dataclass(frozen=True, slots=True)
class Subject:
    """client: the OAuth client, if named. is_service: the client acts for itself, not for a person."""

    id: str
    client: str
    is_service: bool


def subject_of(claims: Mapping[str, Any]) -> Subject:
    """Return the subject of a verified token."""
    client = next((claims[name] for name in _CLIENT if _is_text(claims.get(name))), "")
    return Subject(str(claims["sub"]), client, bool(client) and _is_service(claims, client))


def scopes_of(claims: Mapping[str, Any], default: Sequence[str]) -> tuple[str, ...]:
    """Return the scopes that limit the caller; without a known scope nothing is allowed.

    default: for a token that has no scopes at all.
    """
    if not any(name in claims for name in _SCOPES):
        return tuple(default)
    scopes = [scope for name in _SCOPES for scope in _words(claims.get(name))]
    return tuple(dict.fromkeys(scope for scope in scopes if is_ceiling(scope)))


def is_id_token(claims: Mapping[str, Any], audiences: frozenset[str], console_client: str) -> bool:
    """True for an ID token: it says who logged in, and is no permission to call an API."""
    if "at_hash" in claims or "c_hash" in claims or claims.get("typ") == "ID":
        return True
    return "nonce" in claims and (not console_client or console_client in audiences)


def _is_service(claims: Mapping[str, Any], client: str) -> bool:
    if any(claims.get(name) == value for name, value in _APPLICATION):
        return True
    if claims["sub"] in (client, f"{client}@clients"):
        return True
    # Keycloak's name for the account of a client.
    if claims.get("preferred_username") == f"service-account-{client}".lower():
        return True
    return not any(name in claims for name in _PERSONAL)


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
