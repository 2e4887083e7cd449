"""Client credentials of a request: in the Authorization header or in the body. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus

_BASIC = "basic"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The client id with the secrets that the request may mean. is_basic: from the Authorization header.

    Clients must escape the parts of the header (RFC 6749 section 2.3.1), but some do not: both are tried.
    """

    client_ids: tuple[str, ...]
    secrets: tuple[str, ...]
    is_basic: bool

    @property
    def client_id(self) -> str:
        return self.client_ids[0] if self.client_ids else ""


def read_credentials(header: str, parameters: Mapping[str, str]) -> Credentials:
    """Return the credentials. An unreadable header has none."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() == _BASIC:
        return _basic(encoded.strip())
    client_id, secret = parameters.get("client_id", ""), parameters.get("client_secret", "")
    return Credentials((client_id,) if client_id else (), (secret,) if secret else (), is_basic=False)


def _basic(encoded: str) -> Credentials:
    try:
        client_id, colon, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        client_id = colon = secret = ""
    if not colon:
        return Credentials((), (), is_basic=True)
    client_ids = tuple(dict.fromkeys((unquote_plus(client_id), client_id)))
    secrets = tuple(dict.fromkeys((unquote_plus(secret), secret))) if secret else ()
    return Credentials(client_ids, secrets, is_basic=True)
