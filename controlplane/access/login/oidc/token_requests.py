"""Requests to a provider's token and userinfo endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_token_request

from controlplane import outgoing
from controlplane.access.auth_metrics import count_oidc_request
from controlplane.access.issuers.discovery import IssuerAddress
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.oidc.provider_metadata import ProviderMetadata, address_of
from controlplane.errors import LoginRefused, MalformedBody, RemoteFailed
from controlplane.formats.strict_json import parse_json

_MAX_BYTES = 256 * 1024
_MAX_DEPTH = 12
_SECONDS = 5.0
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """The tokens of a login."""

    id_token: str = field(repr=False)
    access_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CodeExchange:
    """An authorization code with what proves that it is ours."""

    code: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str


def exchange_code(provider: Provider, metadata: ProviderMetadata, exchange: CodeExchange) -> TokenAnswer:
    """Exchange the code for tokens. Raises LoginRefused, RemoteFailed."""
    with count_oidc_request(provider.slug):
        return _exchanged(provider, metadata, exchange)


def _exchanged(provider: Provider, metadata: ProviderMetadata, exchange: CodeExchange) -> TokenAnswer:
    body = prepare_token_request(
        "authorization_code",
        code=exchange.code,
        redirect_uri=exchange.redirect_uri,
        code_verifier=exchange.verifier,
    )
    url, headers, body = _client_auth(provider, metadata).prepare(
        "POST", metadata.token_endpoint, {"Accept": "application/json", "Content-Type": _FORM}, body
    )
    status, content = outgoing.post(
        url, body.encode(), headers=headers, max_bytes=_MAX_BYTES, seconds=_SECONDS, **_reach(provider, url)
    )
    answer = _parse(content, url)
    if status != 200:
        raise LoginRefused(
            f"{provider.label} did not accept the login: {_error_code(answer)}. Start the login again; if it"
            " fails again, ask your operator to check the client's secret and redirect URI."
        )
    tokens = TokenAnswer(_text(answer, "id_token"), _text(answer, "access_token"))
    if not tokens.id_token:
        raise LoginRefused(f"{provider.label} sent no ID token. Ask your operator to check the scopes.")
    return tokens


def fetch_userinfo(provider: Provider, metadata: ProviderMetadata, access_token: str) -> Mapping[str, Any]:
    """Return the claims of the userinfo endpoint; empty if the provider has none. Raises RemoteFailed."""
    url = metadata.userinfo_endpoint
    if not url or not access_token:
        return {}
    headers = {"Accept": "application/json", "Authorization": f"Bearer {access_token}"}
    with count_oidc_request(provider.slug):
        content = outgoing.fetch(
            url, headers=headers, max_bytes=_MAX_BYTES, seconds=_SECONDS, **_reach(provider, url)
        )
        return _parse(content, url)


def _client_auth(provider: Provider, metadata: ProviderMetadata) -> ClientAuth:
    if not provider.client_secret:
        return ClientAuth(provider.client_id, "", "none")
    if not metadata.takes_basic:
        return ClientAuth(provider.client_id, provider.client_secret, "client_secret_post")
    # RFC 6749 section 2.3.1: both parts are form-encoded first, which Authlib leaves to its caller.
    parts = (quote_plus(part) for part in (provider.client_id, provider.client_secret))
    return ClientAuth(*parts, "client_secret_basic")


def _reach(provider: Provider, url: str) -> dict[str, bool]:
    address: IssuerAddress = address_of(provider)
    return {"any_address": address.location(url).any_address}


def _parse(content: bytes, url: str) -> Mapping[str, Any]:
    try:
        answer = parse_json(content, max_depth=_MAX_DEPTH)
    except (MalformedBody, ValueError) as error:
        raise RemoteFailed(f"{url[:200]} did not send a JSON object.") from error
    if not isinstance(answer, Mapping):
        raise RemoteFailed(f"{url[:200]} did not send a JSON object.")
    return answer


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    return value if isinstance(value, str) else ""


def _error_code(answer: Mapping[str, Any]) -> str:
    """Return the error code, which is printable ASCII (RFC 6749 section 5.2); never its description."""
    code = _text(answer, "error")[:60]
    return code if code and code.isascii() and code.isprintable() else "unknown error"
