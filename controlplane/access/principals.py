"""Changes of principals, their roles and tokens."""

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
    principal = Principal.objects.filter(name=name).first()
    if principal is None:
        raise UnknownPrincipal(f"The principal {name[:80]!r} does not exist.")
    return principal


@transaction.atomic
def create_principal(name: str, *, kind: str, actor: Actor, password: str = "") -> Principal:
    """Create a principal without roles. Only people have passwords. Raises NameTaken, InvalidRequest."""
    if not _NAME.fullmatch(name):
        message = (
            "The name must have 1 to 63 letters, digits or . _ @ -, and must begin and end with a"
            " letter or digit."
        )
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
        raise NameTaken(f"The principal {name!r} already exists. Choose another name.") from error
    audit.record(
        event_types.PRINCIPAL_CREATED,
        "principal",
        name,
        actor=actor,
        before=None,
        after=principal_state(principal),
        data={"principal": name, "kind": kind},
    )
    return principal


@transaction.atomic
def set_active(name: str, *, is_active: bool, actor: Actor) -> Principal:
    """Enable or disable a principal. Tokens and sessions of a disabled principal stop working at once."""
    principal = Principal.objects.select_for_update().filter(name=name).first()
    if principal is None:
        raise UnknownPrincipal(f"The principal {name[:80]!r} does not exist.")
    if principal.is_active == is_active:
        return principal
    before = principal_state(principal)
    principal.is_active = is_active
    principal.save(update_fields=["is_active"])
    _check_administrator_remains()
    audit.record(
        event_types.PRINCIPAL_CHANGED,
        "principal",
        name,
        actor=actor,
        before=before,
        after=principal_state(principal),
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
    """Create a token. Its secret is returned only here.

    parent_id: of the token with which it is created. For requests of callers, use `issue_tokens.issue_token`.
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
    """Grant a role at a scope and below it. Raises NameTaken if the principal already has it there."""
    binding = RoleBinding(principal=principal, role=role.value, **scope.segments)
    try:
        with transaction.atomic():
            binding.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"{principal.name} already has the role {role} at {scope}.") from error
    binding.refresh_from_db()
    _record_binding(event_types.ROLE_BOUND, binding, actor=actor, before=None, after=binding_state(binding))
    return binding


@transaction.atomic
def unbind_role(binding_id: UUID, *, actor: Actor) -> None:
    """Remove a role binding. Raises UnknownRoleBinding, LastAdministrator."""
    rows = RoleBinding.objects.select_for_update(of=("self",)).select_related("principal")
    binding = rows.filter(id=binding_id).first()
    if binding is None:
        raise UnknownRoleBinding("The role binding does not exist.")
    RoleBinding.objects.filter(id=binding_id).delete()
    _check_administrator_remains()
    _record_binding(event_types.ROLE_UNBOUND, binding, actor=actor, before=binding_state(binding), after=None)


def _check_administrator_remains() -> None:
    """Raise LastAdministrator if none is left. The locks serialize concurrent changes."""
    administrators = RoleBinding.objects.filter(role=Role.ADMIN.value, **Scope().segments)
    remaining = administrators.filter(principal__is_active=True).select_for_update()
    if not list(remaining):
        raise LastAdministrator(
            "This would remove the last administrator. Give the role admin at the global scope to"
            " another principal first."
        )


def _record_binding(
    event_type: EventType,
    binding: RoleBinding,
    *,
    actor: Actor,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    data = {"principal": binding.principal.name, "role": binding.role, "scope": str(binding.scope)}
    audit.record(
        event_type,
        "role_binding",
        str(binding.id),
        actor=actor,
        before=before,
        after=after,
        data=data,
        scope=binding.scope,
    )


def binding_state(binding: RoleBinding) -> dict[str, Any]:
    return {
        "principal": binding.principal.name,
        "role": binding.role,
        "scope": binding.scope.segments,
    }


def principal_state(principal: Principal) -> dict[str, Any]:
    return {"name": principal.name, "kind": principal.kind, "is_active": principal.is_active}
