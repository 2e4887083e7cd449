"""Find an issuer's public keys, and verify tokens with them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.access.issuers.discovery import IssuerAddress, discover
from controlplane.access.issuers.documents import DOCUMENTS, DocumentCache
from controlplane.access.issuers.public_keys import PublicKey, read_keys
from controlplane.access.issuers.verify import Expectations, KeyMissing, UnverifiedToken, verify
from controlplane.errors import IssuerUnavailable


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where an issuer's keys are: pinned (a JWK Set), else at jwks_uri, else where discovery says."""

    address: IssuerAddress
    jwks_uri: str = ""
    pinned: Mapping[str, Any] | None = None


def find_keys(
    source: KeySource, *, refresh: bool = False, documents: DocumentCache = DOCUMENTS
) -> tuple[PublicKey, ...]:
    """Return the issuer's keys. Raises IssuerUnavailable."""
    if source.pinned is not None:
        return read_keys(source.pinned)
    url = source.jwks_uri or discover(source.address, documents).get("jwks_uri")
    if not isinstance(url, str):
        raise IssuerUnavailable(
            f"The discovery document of {source.address.issuer[:200]} has no `jwks_uri`. Configure the"
            " address of its keys, or pin them."
        )
    keys: tuple[PublicKey, ...] = documents.get(source.address.location(url), read_keys, refresh=refresh)
    return keys


def verify_with(
    source: KeySource,
    token: UnverifiedToken,
    expectations: Expectations,
    *,
    documents: DocumentCache = DOCUMENTS,
) -> dict[str, Any]:
    """Return the claims of a valid token. An unknown key id fetches the keys again, at most once a minute.

    Raises JwtRefused, IssuerUnavailable.
    """
    try:
        return verify(token, find_keys(source, documents=documents), expectations, now=time.time())
    except KeyMissing:
        keys = find_keys(source, refresh=True, documents=documents)
        return verify(token, keys, expectations, now=time.time())
