"""Authenticate access tokens of external issuers, which are in no table."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings

from controlplane.access.issuers.discovery import IssuerAddress
from controlplane.access.issuers.external_issuers import ExternalIssuer
from controlplane.access.issuers.jwks import KeySource, verify_with
from controlplane.access.issuers.subjects import Subject, is_id_token, scopes_of, subject_of
from controlplane.access.issuers.verify import (
    ACCESS_TOKEN_TYPES,
    Expectations,
    JwtRefused,
    audiences_of,
    read_token,
    time_claim,
)
from controlplane.access.models import Principal, PrincipalKind
from controlplane.errors import NotAuthenticated
from controlplane.identity.logins import Login

_CACHE_SECONDS = 60.0
_MAX_CACHED = 10_000
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class PersonFinder(Protocol):
    """Finds the person of an identity; None if there is none. is_new: the token was verified just now."""

    def __call__(
        self, issuer: str, subject: str, claims: Mapping[str, Any], *, is_new: bool
    ) -> Principal | None: ...


@dataclass(frozen=True, slots=True)
class ExternalToken:
    """A valid token of an external issuer. id: of the principal, by which requests are counted."""

    principal: Principal
    scopes: tuple[str, ...]
    login: Login
    expires_at: datetime

    @property
    def id(self) -> UUID:
        return self.principal.id


@dataclass(frozen=True, slots=True)
class _Verified:
    """The claims of a token whose signature was verified. until: when it must be verified again."""

    issuer: ExternalIssuer
    claims: Mapping[str, Any]
    until: float


_person_finders: list[PersonFinder] = []
_verified: dict[bytes, _Verified] = {}


def find_people_with(finder: PersonFinder) -> None:
    """Register how people are found. Apps call it when they are ready."""
    _person_finders.append(finder)


def is_enabled() -> bool:
    return "external" in settings.AUTH_SERVER


def find_external_token(text: str, *, is_identity: bool = False) -> ExternalToken:
    """Return the valid token with its principal. Raises NotAuthenticated, IssuerUnavailable.

    is_identity: an ID token of the console's client, which only Flyte's scheme `IDToken` carries. Only the
    signature is cached: the principal is read each time, so that disabling it has an effect at once.
    """
    verified, is_new = _verify(text, is_identity=is_identity)
    claims, issuer = verified.claims, verified.issuer
    subject = subject_of(claims)
    principal = (
        _service_of(issuer, subject)
        if subject.is_service
        else _person_of(issuer.issuer, subject.id, claims, is_new=is_new)
    )
    if not principal.is_active:
        raise NotAuthenticated("The principal of this token is disabled.")
    return ExternalToken(
        principal,
        issuer.default_scopes if is_identity else scopes_of(claims, issuer.default_scopes),
        _login_of(issuer, subject, claims),
        datetime.fromtimestamp(_ends_at(claims), UTC),
    )


def forget_verified_tokens() -> None:
    _verified.clear()


def _verify(text: str, *, is_identity: bool) -> tuple[_Verified, bool]:
    """Return the verified token, and whether it was verified just now."""
    key = hashlib.sha256(f"{is_identity} {text}".encode()).digest()
    verified = _verified.get(key)
    now = time.time()
    if verified is not None and now < verified.until:
        return verified, False
    try:
        issuer, claims = _verify_signature(text, is_identity=is_identity)
    except JwtRefused as refusal:
        raise NotAuthenticated(f"Invalid token: {refusal.reason} Get a new token of the issuer.") from refusal
    if len(_verified) >= _MAX_CACHED:
        _verified.clear()
    verified = _Verified(issuer, claims, min(now + _CACHE_SECONDS, _ends_at(claims)))
    _verified[key] = verified
    return verified, True


def _verify_signature(text: str, *, is_identity: bool) -> tuple[ExternalIssuer, dict[str, Any]]:
    token = read_token(text)
    issuer = external_issuers().get(token.issuer)
    if issuer is None:
        raise JwtRefused("iss", "The claim `iss` is not a configured issuer.")
    # The operator configured the host, so it may have a private address.
    source = KeySource(IssuerAddress(issuer.issuer, is_configured=True), issuer.jwks_uri)
    if is_identity:
        return issuer, verify_with(source, token, _identity_expectations(issuer))
    claims = verify_with(source, token, _access_expectations(issuer))
    if is_id_token(claims, audiences_of(claims), issuer.console_client):
        raise JwtRefused("nonce", "This is an ID token. Send an access token.")
    return issuer, claims


def external_issuers() -> Mapping[str, ExternalIssuer]:
    issuers: Mapping[str, ExternalIssuer] = settings.EXTERNAL_ISSUERS
    return issuers


def _access_expectations(issuer: ExternalIssuer) -> Expectations:
    public_url = frozenset(filter(None, [settings.PUBLIC_URL, *settings.AUTHORIZED_URIS]))
    return Expectations(
        issuer.issuer,
        issuer.audiences or public_url,
        types=ACCESS_TOKEN_TYPES,
        max_age=settings.EXTERNAL_MAX_AGE,
    )


def _identity_expectations(issuer: ExternalIssuer) -> Expectations:
    client = issuer.console_client
    if not client:
        raise JwtRefused("aud", "ID tokens of this issuer are not accepted.")
    return Expectations(
        issuer.issuer, frozenset({client}), authorized_party=client, max_age=settings.EXTERNAL_MAX_AGE
    )


def _ends_at(claims: Mapping[str, Any]) -> float:
    return min(time_claim(claims, "exp"), time_claim(claims, "iat") + settings.EXTERNAL_MAX_AGE)


def _service_of(issuer: ExternalIssuer, subject: Subject) -> Principal:
    services = Principal.objects.filter(kind=PrincipalKind.SERVICE)
    service = services.filter(name=issuer.clients.get(subject.client, "")).first()
    if service is None:
        raise NotAuthenticated(
            "The client of this token has no service here. The operator can add it to `clients` of the"
            " issuer in EXTERNAL_ISSUERS."
        )
    return service


def _person_of(issuer: str, subject: str, claims: Mapping[str, Any], *, is_new: bool) -> Principal:
    for finder in _person_finders:
        person = finder(issuer, subject, claims, is_new=is_new)
        if person is not None:
            return person
    raise NotAuthenticated(
        "The person of this token has no account here. Log in to the console once, or ask an administrator."
    )


def _login_of(issuer: ExternalIssuer, subject: Subject, claims: Mapping[str, Any]) -> Login:
    """Return how the caller authenticated. A person's token without a time counts as an old login."""
    acr, amr = claims.get("acr"), claims.get("amr")
    return Login(
        auth_time=None if subject.is_service else _auth_time(claims),
        client=subject.client[:255],
        identity=f"{issuer.issuer}#{subject.id}"[:600],
        acr=acr if isinstance(acr, str) else "",
        amr=tuple(item for item in amr if isinstance(item, str)) if isinstance(amr, list) else (),
    )


def _auth_time(claims: Mapping[str, Any]) -> datetime:
    try:
        return datetime.fromtimestamp(min(time_claim(claims, "auth_time"), time.time()), UTC)
    except JwtRefused:
        return _LONG_AGO
