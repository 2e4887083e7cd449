"""Discovery documents of issuers (OpenID Connect Discovery, RFC 8414)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from controlplane.access.issuers.documents import DOCUMENTS, DocumentCache, Location

OPENID_PATH = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class IssuerAddress:
    """An issuer and how to reach it. is_configured: by the operator, so its host may be private.

    path: of the discovery document, relative to the issuer.
    """

    issuer: str
    is_configured: bool = False
    path: str = OPENID_PATH

    def location(self, url: str) -> Location:
        """Return where a document of this issuer is. Only the issuer's own host may be private."""
        is_own_host = urlsplit(url).netloc == urlsplit(self.issuer).netloc
        return Location(url, any_address=self.is_configured and is_own_host)


def discover(address: IssuerAddress, documents: DocumentCache = DOCUMENTS) -> Mapping[str, Any]:
    """Return the discovery document, whose `issuer` is exactly the address's. Raises IssuerUnavailable."""

    def parse(document: Any) -> Mapping[str, Any]:
        if not isinstance(document, Mapping) or document.get("issuer") != address.issuer:
            raise ValueError("the document's `issuer` is not exactly the configured one")
        return document

    url = address.issuer.rstrip("/") + address.path
    document: Mapping[str, Any] = documents.get(address.location(url), parse)
    return document
