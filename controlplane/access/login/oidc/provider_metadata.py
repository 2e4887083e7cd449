"""What a provider publishes: its endpoints and keys, fetched through the cache of issuers' documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from controlplane.access.issuers.discovery import OPENID_PATH, IssuerAddress
from controlplane.access.issuers.documents import DOCUMENTS
from controlplane.access.issuers.jwks import KeySource, verify_with
from controlplane.access.issuers.verify import Expectations, UnverifiedToken, read_token
from controlplane.access.login.oidc.provider import Provider, ProviderSource
from controlplane.errors import IssuerUnavailable

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_REQUIRED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_OPTIONAL = ("userinfo_endpoint", "end_session_endpoint")
Expect = Callable[[Provider, Mapping[str, Any]], Expectations]


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """Endpoints of a provider. takes_basic: clients may authenticate with the header `Authorization`.

    sends_issuer: its answers always have the parameter `iss` (RFC 9207).
    """

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    end_session_endpoint: str
    takes_basic: bool
    sends_issuer: bool


def address_of(provider: Provider) -> IssuerAddress:
    """Return how to reach the provider: only the operator's settings may name a private host."""
    return IssuerAddress(provider.metadata_issuer, is_configured=provider.source is ProviderSource.SETTING)


def metadata_of(provider: Provider) -> ProviderMetadata:
    """Return the provider's metadata, at most an hour old. Raises IssuerUnavailable."""

    def parse(document: Any) -> Mapping[str, Any]:
        if not isinstance(document, Mapping) or document.get("issuer") != provider.issuer:
            raise ValueError("the document's `issuer` is not exactly the configured one")
        return document

    address = address_of(provider)
    # Cached as it is, since other users of the cache read the same document.
    document = DOCUMENTS.get(address.location(address.issuer.rstrip("/") + OPENID_PATH), parse)
    try:
        return parse_metadata(document)
    except ValueError as error:
        raise IssuerUnavailable(f"The discovery document of {provider.label} is invalid: {error}.") from error


def parse_metadata(document: Mapping[str, Any]) -> ProviderMetadata:
    """Return the endpoints of a discovery document. Raises ValueError."""
    urls = {name: document.get(name) or "" for name in (*_REQUIRED, *_OPTIONAL)}
    for name, url in urls.items():
        if (name in _REQUIRED and not url) or (url and not _is_web_url(url)):
            raise ValueError(f"`{name}` is not an https:// URL")
    methods = document.get("token_endpoint_auth_methods_supported")
    return ProviderMetadata(
        **urls,
        takes_basic=not isinstance(methods, list) or "client_secret_basic" in methods,
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )


def verify_token(provider: Provider, text: str, expect: Expect) -> tuple[dict[str, Any], UnverifiedToken]:
    """Return the claims of a token of the provider. Raises JwtRefused, IssuerUnavailable."""
    token = read_token(text)
    source = KeySource(address_of(provider), metadata_of(provider).jwks_uri)
    return verify_with(source, token, expect(provider, token.claims)), token


def _is_web_url(url: object) -> bool:
    if not isinstance(url, str):
        return False
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
