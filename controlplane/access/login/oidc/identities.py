"""Identities of people at providers: create, link and remove them, and apply their claims at each login."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.access import audit, event_types, principals
from controlplane.access.login.oidc.authorization import FinishedLogin
from controlplane.access.login.oidc.claimed_access import apply_claims
from controlplane.access.login.oidc.models import Identity
from controlplane.access.login.oidc.person_names import name_of
from controlplane.access.login.oidc.provider import DEFAULT_ORGANISATION, Provider
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.organisations import get_organisation
from controlplane.errors import LoginRefused, NameTaken, UnknownIdentity
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor, system

_MAX_NAME = 255
_MAX_EMAIL = 254
_NAME_ATTEMPTS = 3


@transaction.atomic
def admit(login: FinishedLogin, *, request_id: str) -> Identity:
    """Return the identity of a confirmed login, with its person, and apply the claims. Raises LoginRefused.

    An unknown identity gets a new person if JIT is on. It never joins a person by name or e-mail address.
    """
    _lock("identity", login.issuer, login.subject)
    rows = Identity.objects.select_related("principal")
    identity = rows.filter(issuer=login.issuer, subject=login.subject).first()
    if identity is None:
        identity = _new_identity(login, request_id)
    elif login.person_id not in (None, identity.principal_id):
        raise LoginRefused("This account of the provider already belongs to another person here.")
    person = identity.principal
    if not person.is_active:
        raise LoginRefused("Your account here is disabled. Ask an administrator to enable it.")
    _check_organisation(person, login.provider)
    _update(identity, login.claims)
    apply_claims(person, login.provider, login.claims, request_id=request_id)
    return identity


def list_identities() -> QuerySet[Identity]:
    return Identity.objects.select_related("principal")


@transaction.atomic
def link_identity(person: Principal, issuer: str, subject: str, *, actor: Actor) -> Identity:
    """Link an identity to a person. Raises NameTaken if it already belongs to somebody."""
    if person.kind != PrincipalKind.PERSON:
        raise LoginRefused(f"{person.name} is not a person. Only people have identities at a provider.")
    _lock("identity", issuer, subject)
    if Identity.objects.filter(issuer=issuer, subject=subject).exists():
        raise NameTaken("This identity already belongs to a person. Remove it there first.")
    identity = Identity.objects.create(principal=person, issuer=issuer, subject=subject)
    identity.refresh_from_db()
    _record(event_types.IDENTITY_LINKED, identity, actor, before=None, after=identity_state(identity))
    return identity


@transaction.atomic
def unlink_identity(identity_id: UUID, *, actor: Actor) -> None:
    """Remove an identity from its person; its sessions end. Raises UnknownIdentity."""
    identity = list_identities().filter(id=identity_id).first()
    if identity is None:
        raise UnknownIdentity("The identity does not exist.")
    Identity.objects.filter(id=identity_id).delete()
    _record(event_types.IDENTITY_UNLINKED, identity, actor, before=identity_state(identity), after=None)


def identity_state(identity: Identity) -> dict[str, Any]:
    """Return the identity as audit records hold it."""
    return {
        "principal": identity.principal.name,
        "issuer": identity.issuer,
        "subject": identity.subject,
    }


def _new_identity(login: FinishedLogin, request_id: str) -> Identity:
    if login.person_id is not None:
        person = Principal.objects.filter(id=login.person_id, is_active=True).first()
        if person is None:
            raise LoginRefused("Your account here is disabled. Ask an administrator to enable it.")
        actor = Actor(person.id, person.name, request_id)
    elif settings.JIT:
        actor = system("login")
        person = _new_person(login, actor)
    else:
        raise LoginRefused(
            "You have no account here yet. Ask an administrator to create one and to link your identity."
        )
    return link_identity(person, login.issuer, login.subject, actor=actor)


def _new_person(login: FinishedLogin, actor: Actor) -> Principal:
    def is_free(name: str) -> bool:
        return not Principal.objects.filter(name=name).exists()

    organisation = get_organisation(login.provider.organisation)
    # One at a time: first logins of namesakes would otherwise find the same name free.
    _lock("names of people")
    for _ in range(_NAME_ATTEMPTS):
        name = name_of(login.issuer, login.subject, login.claims, is_free)
        try:
            return principals.create_principal(
                name, kind=PrincipalKind.PERSON, actor=actor, organisation=organisation
            )
        except NameTaken:
            # An administrator took the name meanwhile.
            continue
    raise LoginRefused("Your account could not be created because of other logins. Log in again.")


def _check_organisation(person: Principal, provider: Provider) -> None:
    """A tenant's provider gives roles only to its own people. The installation's own serves everyone."""
    if provider.organisation not in (DEFAULT_ORGANISATION, person.organisation.slug):
        raise LoginRefused("Your account here belongs to another organisation than this identity provider.")


def _update(identity: Identity, claims: Mapping[str, Any]) -> None:
    """Update what is shown: e-mail address and display name. The name of the person never changes."""
    identity.email = _text(claims.get("email"), _MAX_EMAIL)
    identity.email_verified = claims.get("email_verified") is True
    identity.claims_hash = _hash_of(claims)
    identity.last_login_at = Now()
    identity.save(update_fields=["email", "email_verified", "claims_hash", "last_login_at"])
    person = identity.principal
    shown = (_text(claims.get("name"), _MAX_NAME) or person.display_name, identity.email or person.email)
    if shown != (person.display_name, person.email):
        person.display_name, person.email = shown
        person.save(update_fields=["display_name", "email"])


def _hash_of(claims: Mapping[str, Any]) -> str:
    """Return a digest of the claims without those that differ in every token."""
    changing = {"exp", "iat", "nbf", "nonce", "at_hash", "auth_time", "jti", "sid"}
    stable = {name: value for name, value in claims.items() if name not in changing}
    return hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()


def _text(value: object, most: int) -> str:
    return "".join(filter(str.isprintable, value))[:most] if isinstance(value, str) else ""


def _lock(*parts: str) -> None:
    """Wait for other transactions with the same lock, and hold it until the end of this one."""
    digest = hashlib.sha256(" ".join(parts).encode(errors="replace")).digest()
    with connection.cursor() as cursor:
        number = int.from_bytes(digest[:8], signed=True)
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


def _record(
    event_type: EventType,
    identity: Identity,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    audit.record(
        event_type,
        "identity",
        str(identity.id),
        actor=actor,
        before=before,
        after=after,
        data={"principal": identity.principal.name, "issuer": identity.issuer},
    )
