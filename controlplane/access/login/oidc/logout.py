"""Logout at the provider after a logout here, and here after one at the provider."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from authlib.common.urls import add_params_to_uri
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access import audit, event_types
from controlplane.access.audit import Mutation
from controlplane.access.issuers.verify import JwtRefused, read_token
from controlplane.access.login.new_session import EndedSession
from controlplane.access.login.oidc import logout_tokens
from controlplane.access.login.oidc.logout_tokens import Logout, read_logout
from controlplane.access.login.oidc.models import UsedLogoutToken
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.oidc.provider_metadata import metadata_of, verify_token
from controlplane.access.login.oidc.providers import active_provider, active_providers
from controlplane.access.models import Session
from controlplane.errors import IssuerUnavailable, UnknownIdentityProvider
from controlplane.identity.actors import Actor

LOGOUT_PATH = "/logout"
_MAX_SID = 255
_REMEMBERED = timedelta(seconds=2 * logout_tokens.MAX_AGE_SECONDS)


def provider_logout_url(session: EndedSession, *, state: str) -> str:
    """Return where the browser ends the provider's session; "" for a local login or without such an endpoint.

    state: the provider brings it back.
    """
    if session.login is None or not session.login.provider:
        return ""
    try:
        provider = active_provider(session.login.provider)
        endpoint = metadata_of(provider).end_session_endpoint
    except (UnknownIdentityProvider, IssuerUnavailable):
        return ""
    if not endpoint:
        return ""
    parameters = {
        "client_id": provider.client_id,
        "post_logout_redirect_uri": str(settings.PUBLIC_URL) + LOGOUT_PATH,
        "id_token_hint": session.id_token,
        "state": state,
    }
    url: str = add_params_to_uri(endpoint, [(name, value) for name, value in parameters.items() if value])
    return url


def log_out_by_token(text: str, *, request_id: str) -> int:
    """End the sessions that a logout token names, and return their number.

    Raises JwtRefused, IssuerUnavailable.
    """
    provider = _provider_of(text)
    claims, _ = verify_token(provider, text, logout_tokens.expectations)
    logout = read_logout(claims)
    with transaction.atomic():
        _use_once(logout)
        return _end_sessions(provider, logout, request_id)


def _provider_of(text: str) -> Provider:
    """Return the provider that could have issued the token, by its yet unverified claims."""
    token = read_token(text)
    for provider in active_providers():
        audience = token.claims.get("aud")
        is_audience = audience == provider.client_id or (
            isinstance(audience, list) and provider.client_id in audience
        )
        if provider.issuer_for(token.claims) == token.issuer and is_audience:
            return provider
    raise JwtRefused("iss", "No identity provider here has this issuer and client.")


def _use_once(logout: Logout) -> None:
    """Raise JwtRefused if the token was used before."""
    digest = hashlib.sha256(f"{logout.issuer} {logout.token_id}".encode()).digest()
    UsedLogoutToken.objects.filter(expires_at__lte=Now()).delete()
    try:
        with transaction.atomic():
            UsedLogoutToken.objects.create(digest=digest, expires_at=Now() + _REMEMBERED)
    except IntegrityError as error:
        raise JwtRefused("jti", "This logout token was already used.") from error


def _end_sessions(provider: Provider, logout: Logout, request_id: str) -> int:
    matching = Q(identity__issuer=logout.issuer)
    if logout.session_id:
        matching &= Q(provider_sid=logout.session_id[:_MAX_SID])
    if logout.subject:
        matching &= Q(identity__subject=logout.subject)
    rows = Session.objects.select_for_update(of=("self",)).select_related("principal")
    ended = list(rows.filter(matching, provider=provider.slug).order_by("id"))
    Session.objects.filter(id__in=[session.id for session in ended]).delete()
    actor = Actor(None, f"provider:{provider.slug}"[:63], request_id, "Back-channel logout")
    audit.record_many("session", [_ending(session) for session in ended], actor=actor)
    return len(ended)


def _ending(session: Session) -> Mutation:
    name = session.principal.name if session.principal else ""
    state = {"principal": name, "address": session.address, "browser": session.browser}
    data = {"principal": name, "session_id": str(session.id)}
    return Mutation(event_types.SESSION_ENDED, str(session.id), state, None, data)
