"""OAuth clients as they should be: built-in ones, and rules for others. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.access.oauth import redirects, scopes
from controlplane.errors import FieldError, InvalidRequest

GRANTS = ("authorization_code", "client_credentials", "device_code", "refresh_token")
_INTERACTIVE = ("authorization_code", "device_code", "refresh_token")
_CLIENT_ID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_EVERY_SCOPE = (*scopes.KNOWN, "publish:*")


@dataclass(frozen=True, slots=True)
class ClientSpec:
    """A client as it should be. principal: name of its service; empty for public clients. team: its owner.

    is_trusted: people are not asked for consent. bcrypt_hash: of its secret, from a file of static clients.
    """

    client_id: str
    name: str = ""
    is_public: bool = True
    redirect_uris: tuple[str, ...] = ()
    grants: tuple[str, ...] = _INTERACTIVE
    scopes: tuple[str, ...] = _EVERY_SCOPE
    default_scopes: tuple[str, ...] = ("all", "offline")
    audiences: tuple[str, ...] = ()
    principal: str = ""
    team: str = ""
    may_introspect: bool = False
    is_trusted: bool = False
    is_active: bool = True
    bcrypt_hash: str = field(default="", repr=False)


_LOOPBACK = ("http://localhost:53593/callback", "http://localhost:12345/callback")
BUILT_IN = (
    ClientSpec("flytectl", "flytectl", redirect_uris=_LOOPBACK, is_trusted=True),
    ClientSpec("flyte-cli", "flyte-cli and pyflyte", redirect_uris=_LOOPBACK, is_trusted=True),
    ClientSpec("cpctl", "cpctl", redirect_uris=("http://127.0.0.1/callback",), is_trusted=True),
)


def check_spec(spec: ClientSpec) -> None:
    """Raise InvalidRequest for a spec that no client may have."""
    if not _CLIENT_ID.fullmatch(spec.client_id):
        raise invalid(
            "/client_id", "Use 1 to 100 letters, digits or . _ -, and begin and end with a letter or digit."
        )
    for index, uri in enumerate(spec.redirect_uris):
        if not redirects.may_register(uri):
            raise invalid(
                f"/redirect_uris/{index}",
                "Use an https:// address, or http:// with localhost, 127.0.0.1 or [::1], without a fragment.",
            )
    _check_members("/grants", spec.grants, GRANTS)
    unknown = [name for name in (*spec.scopes, *spec.default_scopes) if not scopes.is_known(name)]
    if unknown:
        raise invalid("/scopes", f"Unknown scope {unknown[0][:80]!r}.")
    _check_kind(spec)


def _check_kind(spec: ClientSpec) -> None:
    if spec.is_public and spec.principal:
        raise invalid("/principal", "Public clients act for people and have no principal.")
    if spec.is_public and "client_credentials" in spec.grants:
        raise invalid("/grants", "Only confidential clients can use client_credentials.")
    if spec.is_public and spec.may_introspect:
        raise invalid("/may_introspect", "Only confidential clients can introspect tokens.")
    if "client_credentials" in spec.grants and not spec.principal:
        raise invalid("/principal", "Clients with client_credentials need a principal of the kind service.")
    if "authorization_code" in spec.grants and not spec.redirect_uris:
        raise invalid("/redirect_uris", "Clients with authorization_code need a redirect URI.")
    if not spec.scopes:
        raise invalid("/scopes", "A client needs at least one scope.")


def _check_members(pointer: str, names: Iterable[str], legal: Iterable[str]) -> None:
    unknown = sorted(set(names) - set(legal))
    if unknown:
        raise invalid(pointer, f"Unknown value {unknown[0][:80]!r}. Use: {', '.join(legal)}.")


def invalid(pointer: str, message: str) -> InvalidRequest:
    """Return the error for one field of a client."""
    return InvalidRequest(message, errors=[FieldError(pointer, "not_allowed", message)])
