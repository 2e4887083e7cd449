"""The authorization code flow: begin a login at a provider, and finish it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from django.conf import settings
from django.db.models.functions import Now

from controlplane.access.issuers.verify import JwtRefused
from controlplane.access.login.oidc import id_tokens
from controlplane.access.login.oidc.login_secrets import LoginSecrets
from controlplane.access.login.oidc.models import LoginAttempt
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.oidc.provider_metadata import ProviderMetadata, metadata_of, verify_token
from controlplane.access.login.oidc.providers import active_provider
from controlplane.access.login.oidc.token_requests import (
    CodeExchange,
    TokenAnswer,
    exchange_code,
    fetch_userinfo,
)
from controlplane.errors import LoginRefused

ATTEMPT_SECONDS = 600
CALLBACK_PATH = "/callback"
_MAX_PARAMETER = 4096
_MAX_SUBJECT = 255


@dataclass(frozen=True, slots=True)
class BegunLogin:
    """Where to send the browser, and the cookie that it must bring back."""

    url: str
    cookie: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """What a browser asks for. person: to whom the identity is to be linked; None for a login.

    extra: further parameters for the provider, such as `prompt`.
    """

    redirect_url: str
    person_id: UUID | None = None
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Callback:
    """The parameters with which the provider sends the browser back."""

    state: str = ""
    code: str = field(default="", repr=False)
    issuer: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class FinishedLogin:
    """A login that the provider confirmed: its verified claims, and the login's own terms."""

    provider: Provider
    claims: Mapping[str, Any]
    id_token: str = field(repr=False)
    redirect_url: str
    person_id: UUID | None

    @property
    def issuer(self) -> str:
        return str(self.claims["iss"])

    @property
    def subject(self) -> str:
        return str(self.claims["sub"])


def begin_login(provider: Provider, request: LoginRequest) -> BegunLogin:
    """Begin a login at a provider. Raises IssuerUnavailable."""
    metadata = metadata_of(provider)
    login = LoginSecrets(secrets.token_urlsafe(32))
    LoginAttempt.objects.filter(expires_at__lte=Now()).delete()
    LoginAttempt.objects.create(
        digest=login.digest,
        provider=provider.slug,
        redirect_url=request.redirect_url,
        person_id=request.person_id,
        expires_at=Now() + timedelta(seconds=ATTEMPT_SECONDS),
    )
    url = prepare_grant_uri(
        metadata.authorization_endpoint,
        provider.client_id,
        "code",
        redirect_uri=callback_url(),
        scope=" ".join(provider.scopes),
        state=login.state,
        nonce=login.nonce,
        code_challenge=create_s256_code_challenge(login.verifier),
        code_challenge_method="S256",
        **request.extra,
    )
    return BegunLogin(url, login.cookie)


def attempted_provider(cookie: str) -> str:
    """Return the name of the provider where the browser's login began; "" if it did not."""
    rows = LoginAttempt.objects.filter(digest=LoginSecrets(cookie).digest, expires_at__gt=Now())
    return rows.values_list("provider", flat=True).first() or ""


def finish_login(cookie: str, callback: Callback) -> FinishedLogin:
    """Finish the login of the browser with this cookie. Raises LoginRefused, TooManyGroups, RemoteFailed."""
    login = LoginSecrets(cookie)
    attempt = _use_attempt(login, callback)
    provider = active_provider(attempt.provider, with_secret=True)
    metadata = metadata_of(provider)
    _check_callback(provider, metadata, callback)
    exchange = CodeExchange(callback.code, login.verifier, callback_url())
    tokens = exchange_code(provider, metadata, exchange)
    claims = _verified_claims(provider, metadata, tokens, login)
    return FinishedLogin(provider, claims, tokens.id_token, attempt.redirect_url, attempt.person_id)


def callback_url() -> str:
    """Return our redirect URI, which must be registered at the provider."""
    if not settings.PUBLIC_URL:
        raise LoginRefused("PUBLIC_URL is not set, so that no provider can send people back here.")
    return str(settings.PUBLIC_URL) + CALLBACK_PATH


def _use_attempt(login: LoginSecrets, callback: Callback) -> LoginAttempt:
    """Return the attempt and delete it. Raises LoginRefused if it is unknown, used, or too old."""
    rows = LoginAttempt.objects.filter(digest=login.digest, expires_at__gt=Now())
    attempt = rows.first() if login.cookie else None
    if attempt is None or not login.is_state(callback.state):
        raise LoginRefused(
            "This login has expired, was already used, or was started in another browser. Start it again."
        )
    # Of two requests with the same answer, one deletes the row.
    if not LoginAttempt.objects.filter(digest=login.digest).delete()[0]:
        raise LoginRefused("This login was already used. Start it again.")
    return attempt


def _check_callback(provider: Provider, metadata: ProviderMetadata, callback: Callback) -> None:
    """Check the answer before its code is used, so that no code goes to another provider (RFC 9207)."""
    # A template such as Entra's is not an issuer by itself; its answers carry no `iss`.
    if (callback.issuer or metadata.sends_issuer) and callback.issuer != provider.issuer:
        raise LoginRefused("The answer is from another provider than the one where this login began.")
    if callback.error:
        raise LoginRefused(
            f"{provider.label} did not log you in: {_printable(callback.error)}. Start the login again, or"
            " ask your operator for access."
        )
    if not callback.code or len(callback.code) > _MAX_PARAMETER:
        raise LoginRefused(f"{provider.label} sent no authorization code. Start the login again.")


def _verified_claims(
    provider: Provider, metadata: ProviderMetadata, tokens: TokenAnswer, login: LoginSecrets
) -> Mapping[str, Any]:
    try:
        claims, token = verify_token(provider, tokens.id_token, id_tokens.expectations)
    except JwtRefused as error:
        raise LoginRefused(
            f"The ID token of {provider.label} is not valid: {error.reason} Ask your operator to check the"
            " provider's configuration."
        ) from error
    answer = id_tokens.LoginAnswer(login.nonce, tokens.access_token, token.algorithm)
    id_tokens.check_id_token(provider, claims, answer)
    if len(claims["sub"]) > _MAX_SUBJECT:
        raise LoginRefused(f"The subject of the ID token is longer than {_MAX_SUBJECT} characters.")
    if not id_tokens.is_incomplete(provider, claims):
        return claims
    userinfo = fetch_userinfo(provider, metadata, tokens.access_token)
    return id_tokens.with_userinfo(claims, userinfo) if userinfo else claims


def _printable(code: str) -> str:
    return code[:60] if code.isascii() and code[:60].isprintable() else "unknown error"
