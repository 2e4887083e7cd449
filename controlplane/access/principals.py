"""Principals, their roles and tokens: every change of who may do what."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from controlplane.access import audit, event_types, tokens
from controlplane.access.models import Principal, PrincipalKind, RoleBinding, Token
from controlplane.errors import (
    FieldError,
    InvalidRequest,
    LastAdministrator,
    NameTaken,
    UnknownPrincipal,
    UnknownRoleBinding,
)
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Role
from controlplane.scopes import Scope

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._@-]{0,61}[A-Za-z0-9])?")


def get_principal(name: str) -> Principal:
    """Return the principal with this name. Raises UnknownPrincipal."""
    found = Principal.objects.filter(name=name).first()
    if found is None:
        raise UnknownPrincipal(f"There is no principal {name[:80]!r}.")
    return found


@transaction.atomic
def create_principal(name: str, *, kind: str, actor: Actor, password: str = "") -> Principal:
    """Add a principal without roles. Only people get a password. Raises NameTaken, InvalidRequest."""
    if not _NAME.fullmatch(name):
        message = "A name has letters, digits and inner . _ @ -, 63 at most."
        raise InvalidRequest(message, errors=[FieldError("/name", "malformed", message)])
    principal = Principal(name=name, kind=kind)
    if password:
        principal.set_password(password)
    else:
        principal.set_unusable_password()
    try:
        with transaction.atomic():
            principal.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"There is a principal {name!r} already.") from error
    audit.record(
        event_types.PRINCIPAL_CREATED,
        "principal",
        name,
        actor=actor,
        before=None,
        after=shown_principal(principal),
        data={"principal": name, "kind": kind},
    )
    return principal


@transaction.atomic
def set_active(name: str, *, is_active: bool, actor: Actor) -> Principal:
    """Switch a principal on or off; off, its tokens and sessions stop working at once."""
    principal = Principal.objects.select_for_update().filter(name=name).first()
    if principal is None:
        raise UnknownPrincipal(f"There is no principal {name[:80]!r}.")
    if principal.is_active == is_active:
        return principal
    before = shown_principal(principal)
    principal.is_active = is_active
    principal.save(update_fields=["is_active"])
    _keep_an_administrator()
    audit.record(
        event_types.PRINCIPAL_CHANGED,
        "principal",
        name,
        actor=actor,
        before=before,
        after=shown_principal(principal),
        data={"principal": name, "is_active": is_active},
    )
    return principal


@transaction.atomic
def create_token(
    principal: Principal,
    *,
    name: str,
    expires_at: datetime | None,
    actor: Actor,
    parent_id: UUID | None = None,
) -> tuple[Token, str]:
    """Create a token. The secret is returned here and never again.

    parent_id: of the token that it is created with. For requests of callers there is `issuing.issue_token`.
    """
    prefix = tokens.Prefix.AGENT if principal.kind == PrincipalKind.AGENT else tokens.Prefix.PERSONAL
    secret = tokens.new_token(prefix)
    token = Token.objects.create(
        principal=principal,
        name=name,
        hint=tokens.hint(secret),
        digest=tokens.digest(secret),
        expires_at=expires_at,
        parent_id=parent_id,
    )
    token.refresh_from_db()
    audit.record(
        event_types.TOKEN_CREATED,
        "token",
        str(token.id),
        actor=actor,
        before=None,
        after={
            "principal": principal.name,
            "name": name,
            "hint": token.hint,
            "created_with": str(parent_id) if parent_id else None,
        },
        data={"principal": principal.name, "token_id": str(token.id)},
    )
    return token, secret


@transaction.atomic
def bind_role(principal: Principal, role: Role, scope: Scope, *, actor: Actor) -> RoleBinding:
    """Give a role at a scope and below it. Raises NameTaken if the principal has it there."""
    binding = RoleBinding(principal=principal, role=role.value, **scope.segments)
    try:
        with transaction.atomic():
            binding.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"{principal.name} is {role} at {scope} already.") from error
    binding.refresh_from_db()
    _record_binding(event_types.ROLE_BOUND, binding, actor=actor, before=None, after=shown_binding(binding))
    return binding


@transaction.atomic
def unbind_role(binding_id: UUID, *, actor: Actor) -> None:
    """Take a role away. Raises UnknownRoleBinding, LastAdministrator."""
    found = RoleBinding.objects.select_for_update(of=("self",)).select_related("principal")
    binding = found.filter(id=binding_id).first()
    if binding is None:
        raise UnknownRoleBinding("There is no such role binding.")
    RoleBinding.objects.filter(id=binding_id).delete()
    _keep_an_administrator()
    _record_binding(event_types.ROLE_UNBOUND, binding, actor=actor, before=shown_binding(binding), after=None)


def _keep_an_administrator() -> None:
    """Refuse to lock everybody out. The locked rows make two such changes wait for each other."""
    administrators = RoleBinding.objects.filter(role=Role.ADMIN.value, **Scope().segments)
    left = administrators.filter(principal__is_active=True).select_for_update()
    if not list(left):
        raise LastAdministrator("Then nobody could administer everything. Bind another administrator first.")


def _record_binding(
    event_type: EventType,
    binding: RoleBinding,
    *,
    actor: Actor,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    said = {"principal": binding.principal.name, "role": binding.role, "scope": str(binding.scope)}
    audit.record(
        event_type,
        "role_binding",
        str(binding.id),
        actor=actor,
        before=before,
        after=after,
        data=said,
        scope=binding.scope,
    )


def shown_binding(binding: RoleBinding) -> dict[str, Any]:
    return {
        "principal": binding.principal.name,
        "role": binding.role,
        "scope": binding.scope.segments,
    }


def shown_principal(principal: Principal) -> dict[str, Any]:
    return {"name": principal.name, "kind": principal.kind, "is_active": principal.is_active}
