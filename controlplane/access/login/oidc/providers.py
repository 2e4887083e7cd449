"""Identity providers: those of the settings, and those that the API manages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from controlplane.access import audit, event_types
from controlplane.access.login.oidc.models import IdentityProvider
from controlplane.access.login.oidc.provider import Provider, ProviderSource
from controlplane.access.login.oidc.provider_documents import parse_provider, provider_document
from controlplane.access.organisations import get_organisation
from controlplane.access.secrets.sealing import seal, unseal
from controlplane.errors import NameTaken, SettingIsReadOnly, UnknownIdentityProvider
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check

_COLUMNS = (
    *("issuer", "client_id", "title", "kind", "scopes", "group_claim", "rules", "authoritative"),
    *("allowed_domains", "tenants", "is_active"),
)


def configured_providers() -> list[Provider]:
    """Return the providers of the settings."""
    providers: list[Provider] = settings.IDENTITY_PROVIDERS
    return providers


def all_providers() -> list[Provider]:
    """Return all providers without secrets: those of the settings first, and then by name."""
    configured = configured_providers()
    slugs = [provider.slug for provider in configured]
    rows = _rows().exclude(slug__in=slugs).order_by("slug")
    return configured + [provider_of(row) for row in rows]


def active_providers() -> list[Provider]:
    """Return the providers at which people can log in."""
    return [provider for provider in all_providers() if provider.is_active]


def active_provider(slug: str, *, with_secret: bool = False) -> Provider:
    """Return a provider at which people can log in. Raises UnknownIdentityProvider."""
    provider = next((provider for provider in active_providers() if provider.slug == slug), None)
    if provider is None:
        raise _unknown(slug)
    return provider_with_secret(provider) if with_secret else provider


def provider_with_secret(provider: Provider) -> Provider:
    """Return the provider with its client secret. Raises SecretsUnavailable."""
    if provider.source is ProviderSource.SETTING:
        return provider
    row = get_row(provider.slug)
    secret = unseal(row.secret, row.secret_context).decode() if row.secret else ""
    return replace(provider, client_secret=secret)


def get_provider(slug: str) -> tuple[Provider, int]:
    """Return the provider and its version; 0 for one of the settings. Raises UnknownIdentityProvider."""
    provider = next((provider for provider in configured_providers() if provider.slug == slug), None)
    if provider is not None:
        return provider, 0
    row = get_row(slug)
    return provider_of(row), row.version


def get_row(slug: str, *, lock: bool = False) -> IdentityProvider:
    """Return the row of a provider. Raises UnknownIdentityProvider."""
    rows = _rows().select_for_update(of=("self",)) if lock else _rows()
    row = rows.filter(slug=slug).first()
    if row is None:
        raise _unknown(slug)
    return row


def provider_of(row: IdentityProvider) -> Provider:
    """Return the provider of a row, without its secret."""
    document = {
        "slug": row.slug,
        "organisation": row.organisation.slug,
        **{name: getattr(row, name) for name in _COLUMNS},
    }
    return parse_provider(document, "", ProviderSource.API)


@transaction.atomic
def put_provider(
    document: dict[str, Any],
    secret: str | None,
    *,
    precondition: Precondition | None,
    actor: Actor,
) -> tuple[IdentityProvider, bool]:
    """Create or replace a provider; True if it is new. secret: None leaves the present one.

    Raises InvalidIdentityProvider, UnknownOrganisation, SettingIsReadOnly, VersionMismatch, VersionRequired,
    SecretsUnavailable.
    """
    provider = parse_provider(document, "", ProviderSource.API)
    _check_is_writable(provider.slug)
    row = _rows().select_for_update(of=("self",)).filter(slug=provider.slug).first()
    check(precondition, row.version if row else None)
    before = _state(row) if row else None
    is_new = row is None
    row = row or IdentityProvider(slug=provider.slug, version=0)
    _fill(row, provider, secret)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise NameTaken(f"The identity provider {provider.slug!r} was created meanwhile.") from error
    row.refresh_from_db()
    event_type = event_types.PROVIDER_CREATED if is_new else event_types.PROVIDER_CHANGED
    _record(event_type, row, actor, before=before, after=_state(row))
    return row, is_new


@transaction.atomic
def delete_provider(slug: str, *, precondition: Precondition | None, actor: Actor) -> None:
    """Delete a provider. Its identities remain, and its sessions end.

    Raises UnknownIdentityProvider, SettingIsReadOnly.
    """
    _check_is_writable(slug)
    row = get_row(slug, lock=True)
    check(precondition, row.version)
    before = _state(row)
    IdentityProvider.objects.filter(id=row.id).delete()
    _end_sessions(slug)
    _record(event_types.PROVIDER_DELETED, row, actor, before=before, after=None)


def _rows() -> QuerySet[IdentityProvider]:
    return IdentityProvider.objects.select_related("organisation")


def _end_sessions(slug: str) -> None:
    from controlplane.access.models import Session

    Session.objects.filter(provider=slug).delete()


def _fill(row: IdentityProvider, provider: Provider, secret: str | None) -> None:
    document = provider_document(provider)
    for name in _COLUMNS:
        setattr(row, name, document[name])
    row.organisation = get_organisation(provider.organisation)
    row.version += 1
    if secret is not None:
        row.secret = seal(secret.encode(), row.secret_context) if secret else ""


def _check_is_writable(slug: str) -> None:
    if any(provider.slug == slug for provider in configured_providers()):
        raise SettingIsReadOnly(
            f"The identity provider {slug!r} is configured by the operator, in IDENTITY_PROVIDERS_FILE or"
            " OIDC_ISSUER. Change it there, or choose another name."
        )


def _state(row: IdentityProvider) -> dict[str, Any]:
    """Return the provider as audit records hold it, without its secret."""
    return {**provider_document(provider_of(row)), "has_secret": bool(row.secret)}


def _unknown(slug: str) -> UnknownIdentityProvider:
    return UnknownIdentityProvider(f"The identity provider {slug[:80]!r} does not exist or is not active.")


def _record(
    event_type: EventType,
    row: IdentityProvider,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    audit.record(
        event_type,
        "identity_provider",
        row.slug,
        actor=actor,
        before=before,
        after=after,
        data={"identity_provider": row.slug},
    )
