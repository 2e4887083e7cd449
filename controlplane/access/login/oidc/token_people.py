"""People of access tokens that an external issuer gave them: found by their identity, as at a login."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction

from controlplane.access.login.oidc.authorization import FinishedLogin
from controlplane.access.login.oidc.claimed_access import apply_claims
from controlplane.access.login.oidc.identities import admit, list_identities
from controlplane.access.login.oidc.provider import Provider
from controlplane.access.login.oidc.providers import active_providers
from controlplane.access.models import Principal
from controlplane.errors import LoginRefused, NotAuthenticated
from controlplane.observability.request_ids import current_request_id


def find_person(issuer: str, subject: str, claims: Mapping[str, Any], *, is_new: bool) -> Principal | None:
    """Return the person of an identity; None if there is none. Raises NotAuthenticated.

    is_new: the token was verified for this request, so that its claims may change the person's teams and
    roles. An unknown person of a provider is created if JIT is on.
    """
    identity = list_identities().filter(issuer=issuer, subject=subject).first()
    if not is_new:
        return identity.principal if identity else None
    provider = _provider_of(issuer, claims)
    if identity is None:
        return _admit(provider, claims) if provider and _may_create(provider) else None
    if provider and _has_claims_of_rules(provider, claims):
        with transaction.atomic():
            apply_claims(identity.principal, provider, claims, request_id=current_request_id())
    return identity.principal


def _provider_of(issuer: str, claims: Mapping[str, Any]) -> Provider | None:
    providers = (provider for provider in active_providers() if provider.issuer_for(claims) == issuer)
    return next(providers, None)


def _may_create(provider: Provider) -> bool:
    """Only a login checks the domains and tenants that a provider allows."""
    return settings.JIT and not (provider.allowed_domains or provider.tenants)


def _has_claims_of_rules(provider: Provider, claims: Mapping[str, Any]) -> bool:
    """True if the token says anything about teams and roles. Many access tokens have no groups at all."""
    return any(rule.claim.partition(".")[0] in claims for rule in provider.rules)


def _admit(provider: Provider, claims: Mapping[str, Any]) -> Principal:
    login = FinishedLogin(provider, claims, id_token="", redirect_url="", person_id=None)
    try:
        return admit(login, request_id=current_request_id()).principal
    except LoginRefused as refusal:
        raise NotAuthenticated(refusal.detail) from refusal
