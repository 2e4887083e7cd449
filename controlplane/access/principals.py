"""Changes of principals and their tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from controlplane.access import audit, event_types, tokens
from controlplane.access.audit import Mutation
from controlplane.access.models import Principal, PrincipalKind, Session, Token
from controlplane.access.role_bindings import check_administrator_remains, lock_administrators
from controlplane.access.team_models import Organisation
from controlplane.errors import (
    FieldError,
    InvalidRequest,
    NameTaken,
    UnknownPrincipal,
)
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._@-]{0,61}[A-Za-z0-9])?")


def get_principal(name: str) -> Principal:
    """Return the principal with this name. Raises UnknownPrincipal."""
    principal = Principal.objects.filter(name=name).first()
    if principal is None:
        raise UnknownPrincipal(f"The principal {name[:80]!r} does not exist.")
    return principal


def get_visible_principal(caller: Caller, name: str) -> Principal:
    """Return a principal that the caller may name. Raises UnknownPrincipal for other organisations'."""
    principal = get_principal(name)
    if caller.tenant is not None and principal.organisation_id != caller.tenant.id:
        raise UnknownPrincipal(f"The principal {name[:80]!r} does not exist.")
    return principal


@transaction.atomic
def create_principal(
    name: str, *, kind: str, actor: Actor, password: str = "", organisation: Organisation | None = None
) -> Principal:
    """Create a principal without roles. Only people have passwords. Raises NameTaken, InvalidRequest."""
    if not _NAME.fullmatch(name):
        message = (
            "The name must have 1 to 63 letters, digits or . _ @ -, and must begin and end with a"
            " letter or digit."
        )
        raise InvalidRequest(message, errors=[FieldError("/name", "malformed", message)])
    principal = Principal(name=name, kind=kind)
    if organisation is not None:
        principal.organisation = organisation
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
    lock_administrators()
    principal = Principal.objects.select_for_update().filter(name=name).first()
    if principal is None:
        raise UnknownPrincipal(f"The principal {name[:80]!r} does not exist.")
    if principal.is_active == is_active:
        return principal
    before = principal_state(principal)
    principal.is_active = is_active
    principal.save(update_fields=["is_active"])
    check_administrator_remains()
    if not is_active:
        _end_sessions(principal, actor)
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


def _end_sessions(principal: Principal, actor: Actor) -> None:
    """End the sessions, which must not come back when the principal is enabled again."""
    session_ids = list(Session.objects.filter(principal=principal).values_list("id", flat=True))
    Session.objects.filter(id__in=session_ids).delete()
    state = {"principal": principal.name}
    endings = [
        Mutation(
            event_types.SESSION_ENDED, str(session_id), state, None, {**state, "session_id": str(session_id)}
        )
        for session_id in session_ids
    ]
    audit.record_many("session", endings, actor=actor)


@transaction.atomic
def create_token(
    principal: Principal,
    *,
    name: str,
    expires_at: datetime | None,
    actor: Actor,
    parent_id: UUID | None = None,
    scopes: Sequence[str] | None = None,
) -> tuple[Token, str]:
    """Create a token. Its secret is returned only here.

    scopes: its ceilings; None for none. parent_id: of the token with which it is created. For requests of
    callers, use `issue_tokens.issue_token`.
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
        scopes=None if scopes is None else list(scopes),
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


def principal_state(principal: Principal) -> dict[str, Any]:
    return {"name": principal.name, "kind": principal.kind, "is_active": principal.is_active}
