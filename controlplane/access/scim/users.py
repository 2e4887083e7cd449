"""Users of the identity provider: create, change and deactivate the people here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from controlplane.access import audit, issue_tokens, login_event_types, principals
from controlplane.access.login.oidc.identities import link_identity
from controlplane.access.login.oidc.models import Identity
from controlplane.access.login.oidc.person_names import name_of
from controlplane.access.models import Principal, PrincipalKind, Token
from controlplane.access.oauth.issuance import revoke_family
from controlplane.access.scim.models import ScimUser
from controlplane.access.team_models import Via
from controlplane.access.teams.memberships import remove_member
from controlplane.errors import Conflict, NameTaken, UnknownPrincipal
from controlplane.identity.actors import Actor

_MAX_NAME = 255
_MAX_EMAIL = 254


@dataclass(frozen=True, slots=True)
class UserFields:
    """What the provider sent about a user. document: all of it, without a password."""

    user_name: str
    external_id: str
    display_name: str
    email: str
    is_active: bool
    document: Mapping[str, Any]


def get_user(principal_id: UUID, *, lock: bool = False) -> ScimUser:
    """Return the user. Raises UnknownPrincipal."""
    rows = ScimUser.objects.select_related("principal")
    rows = rows.select_for_update(of=("self",)) if lock else rows
    user = rows.filter(principal_id=principal_id).first()
    if user is None:
        raise UnknownPrincipal(f"The user {principal_id} does not exist.")
    return user


@transaction.atomic
def create_user(fields: UserFields, *, actor: Actor) -> ScimUser:
    """Create a user with a person, or for the person who has the identity already.

    A person is never found by name or e-mail address. Raises NameTaken, Conflict.
    """
    person = _person_with_identity(fields) or _new_person(fields, actor)
    user = ScimUser(
        principal=person,
        user_name=fields.user_name,
        external_id=fields.external_id,
        document=dict(fields.document),
    )
    _save(user, force_insert=True)
    _link(person, fields.external_id, actor)
    _apply(person, fields, actor)
    _record(user, actor, before=None)
    return get_user(person.id)


@transaction.atomic
def change_user(principal_id: UUID, fields: UserFields, *, actor: Actor) -> ScimUser:
    """Replace what is known about a user. Raises UnknownPrincipal, NameTaken, Conflict, LastAdministrator."""
    user = get_user(principal_id, lock=True)
    before = user_state(user)
    is_same_document = user.document == dict(fields.document)
    if fields.external_id != user.external_id:
        _unlink(user.principal, user.external_id)
        _link(user.principal, fields.external_id, actor)
    user.user_name, user.external_id = fields.user_name, fields.external_id
    user.document = dict(fields.document)
    _apply(user.principal, fields, actor)
    if user_state(user) == before and is_same_document:
        return user
    user.version += 1
    user.changed_at = Now()
    _save(user)
    _record(user, actor, before=before)
    return get_user(principal_id)


@transaction.atomic
def deactivate_user(principal_id: UUID, *, actor: Actor) -> None:
    """Disable the person and forget the user, who can be created again. Raises UnknownPrincipal."""
    user = get_user(principal_id, lock=True)
    before = user_state(user)
    if user.principal.is_active:
        _deactivate(user.principal, actor)
    for membership in user.principal.memberships.filter(via=Via.SCIM).select_related("team"):
        remove_member(membership.team, user.principal, actor=actor, via=Via.SCIM)
    ScimUser.objects.filter(principal_id=principal_id).delete()
    _record(user, actor, before=before, is_deleted=True)


def user_state(user: ScimUser) -> dict[str, Any]:
    """Return the user as audit records hold it."""
    return {
        "user_name": user.user_name,
        "external_id": user.external_id,
        "display_name": user.principal.display_name,
        "email": user.principal.email,
        "is_active": user.principal.is_active,
    }


def _person_with_identity(fields: UserFields) -> Principal | None:
    """Return the person who has logged in with this identity before; also one who was deleted by SCIM."""
    if not settings.SCIM_ISSUER or not fields.external_id:
        return None
    rows = Identity.objects.select_related("principal")
    identity = rows.filter(issuer=settings.SCIM_ISSUER, subject=fields.external_id).first()
    if identity is None:
        return None
    if ScimUser.objects.filter(principal_id=identity.principal_id).exists():
        raise NameTaken(f"A user with the externalId {fields.external_id[:80]!r} already exists.")
    return identity.principal


def _new_person(fields: UserFields, actor: Actor) -> Principal:
    claims = {"preferred_username": fields.user_name, "email": fields.email}
    subject = fields.external_id or fields.user_name
    name = name_of(settings.SCIM_ISSUER, subject, claims, lambda name: not _is_taken(name))
    return principals.create_principal(name, kind=PrincipalKind.PERSON, actor=actor)


def _is_taken(name: str) -> bool:
    return Principal.objects.filter(name=name).exists()


def _link(person: Principal, external_id: str, actor: Actor) -> None:
    """Link the identity with which the person will log in, if the provider is known."""
    if not settings.SCIM_ISSUER or not external_id:
        return
    identity = Identity.objects.filter(issuer=settings.SCIM_ISSUER, subject=external_id).first()
    if identity is None:
        link_identity(person, settings.SCIM_ISSUER, external_id, actor=actor)
    elif identity.principal_id != person.id:
        raise Conflict(f"The identity {external_id[:80]!r} already belongs to another person.")


def _unlink(person: Principal, external_id: str) -> None:
    if settings.SCIM_ISSUER:
        person.identities.filter(issuer=settings.SCIM_ISSUER, subject=external_id).delete()


def _apply(person: Principal, fields: UserFields, actor: Actor) -> None:
    person.display_name, person.email = fields.display_name[:_MAX_NAME], fields.email[:_MAX_EMAIL]
    person.save(update_fields=["display_name", "email"])
    if fields.is_active == person.is_active:
        return
    if fields.is_active:
        principals.set_active(person.name, is_active=True, actor=actor)
        person.is_active = True
    else:
        _deactivate(person, actor)


def _deactivate(person: Principal, actor: Actor) -> None:
    """Disable the person, which ends the sessions, and revoke the tokens: they must not come back."""
    principals.set_active(person.name, is_active=False, actor=actor)
    person.is_active = False
    token_ids = Token.objects.filter(principal=person, revoked_at=None).values_list("id", flat=True)
    for token_id in list(token_ids):
        issue_tokens.revoke_token(token_id, of=None, actor=actor)
    for family in person.token_families.filter(revoked_at=None):
        revoke_family(family)


def _save(user: ScimUser, *, force_insert: bool = False) -> None:
    try:
        with transaction.atomic():
            user.save(force_insert=force_insert)
    except IntegrityError as error:
        raise NameTaken(f"A user with the userName {user.user_name[:80]!r} already exists.") from error


def _record(user: ScimUser, actor: Actor, *, before: dict[str, Any] | None, is_deleted: bool = False) -> None:
    audit.record(
        login_event_types.USER_PROVISIONED,
        "principal",
        user.principal.name,
        actor=actor,
        before=before,
        after=None if is_deleted else user_state(user),
        data={"principal": user.principal.name, "is_active": user.principal.is_active},
    )
