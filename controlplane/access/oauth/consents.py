"""Consents: what people allowed clients to do. People are asked once per client and scopes."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from controlplane.access import login_event_types
from controlplane.access.models import Principal
from controlplane.access.oauth.issuance import actor_of
from controlplane.access.oauth.models import Consent, OAuthClient
from controlplane.access.occurrences import record_occurrence


def needs_consent(person: Principal, client: OAuthClient, scopes: Iterable[str]) -> bool:
    """True unless the client is built in, or the person allowed it all these scopes before."""
    if client.skip_authorization:
        return False
    consent = Consent.objects.filter(principal=person, client=client).first()
    return consent is None or not set(scopes) <= set(consent.scopes)


@transaction.atomic
def record_consent(person: Principal, client: OAuthClient, scopes: Iterable[str]) -> None:
    """Remember that the person allowed the client these scopes, in addition to earlier ones."""
    consent, _ = Consent.objects.select_for_update().get_or_create(
        principal=person, client=client, defaults={"scopes": []}
    )
    merged = sorted({*consent.scopes, *scopes})
    if merged == consent.scopes:
        return
    Consent.objects.filter(id=consent.id).update(scopes=merged)
    facts = {"client": client.client_id, "principal": person.name, "scopes": merged}
    actor = actor_of(person, client)
    record_occurrence(login_event_types.OAUTH_CONSENT_GIVEN, str(consent.id), actor=actor, data=facts)
