"""Create tokens on behalf of a caller, and revoke tokens with all their descendants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.access import audit, event_types, principals
from controlplane.access.audit import Mutation
from controlplane.access.authentication import caller_for
from controlplane.access.emergency_models import EmergencyAccess
from controlplane.access.models import Principal, Token
from controlplane.access.token_lifetimes import (
    Creation,
    Policy,
    RequestedExpiry,
    expiry_of,
    outlives_its_issuer,
)
from controlplane.database.clock import statement_now
from controlplane.errors import NotAuthenticated, PermissionDenied, UnknownToken
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.grants import missing_rights
from controlplane.identity.roles import Action

# Each is called with the ids of revoked tokens, in the transaction that revokes them.
_on_revocation: list[Callable[[Sequence[UUID], Actor], None]] = []


def on_revocation(handler: Callable[[Sequence[UUID], Actor], None]) -> None:
    """Register a handler that ends whatever depends on revoked tokens. Apps call it when they are ready."""
    _on_revocation.append(handler)


@dataclass(frozen=True, slots=True)
class Issuer:
    """The caller who creates a token.

    token_id: of the token in use; None for a session. ends_at: of the token in use if another issuer's.
    """

    caller: Caller
    token_id: UUID | None = None
    ends_at: datetime | None = None


@transaction.atomic
def issue_token(
    principal: Principal, name: str, requested: RequestedExpiry, *, issuer: Issuer, actor: Actor
) -> tuple[Token, str]:
    """Create a token with at most its issuer's rights, which expires no later than its issuer's token.

    Raises InvalidRequest, PermissionDenied, and NotAuthenticated if the issuer's token was just revoked.
    """
    parent_id = issuer.token_id or _emergency_token(issuer.caller)
    parent = lock_token(parent_id) if parent_id else None
    _check_rights(principal, issuer.caller)
    creation = Creation(
        now=statement_now(),
        created_with_ends_at=parent.expires_at if parent else issuer.ends_at,
        may_be_endless=issuer.caller.verdict(Action.ACCESS_WRITE).allowed,
    )
    expires_at = expiry_of(requested, creation, lifetime_policy())
    return principals.create_token(
        principal, name=name, expires_at=expires_at, actor=actor, parent_id=parent_id
    )


@transaction.atomic
def renew_token(used: Token, *, name: str, actor: Actor) -> str:
    """Create the successor of the token in use, with the same expiry and the same issuer.

    Returns the secret. Raises NotAuthenticated if the token or its issuer was just revoked.
    """
    if used.parent_id:
        lock_token(used.parent_id)
    current = lock_token(used.id)
    _, secret = principals.create_token(
        current.principal,
        name=name,
        expires_at=current.expires_at,
        actor=actor,
        parent_id=current.parent_id,
        scopes=current.scopes,
    )
    return secret


def check_within(expires_at: datetime, token_id: UUID, pointer: str) -> None:
    """Check the expiry of an object that is created with a token, in the transaction that creates it.

    Raises InvalidRequest if it would outlive the token, NotAuthenticated if the token was just revoked.
    """
    check_before(expires_at, lock_token(token_id).expires_at, pointer)


def check_before(expires_at: datetime, limit: datetime | None, pointer: str) -> None:
    """Raise InvalidRequest if an object would outlive the token with which it is created."""
    if limit is not None and expires_at > limit:
        raise outlives_its_issuer(limit, pointer)


def lifetime_policy() -> Policy:
    return Policy(timedelta(days=settings.TOKEN_DEFAULT_DAYS), timedelta(days=settings.TOKEN_MAX_DAYS))


@transaction.atomic
def revoke_token(token_id: UUID, *, of: UUID | None, actor: Actor) -> None:
    """Revoke a token and all its descendants. Revoking it again changes nothing.

    of: the principal whose tokens may be revoked; None for all. Raises UnknownToken.
    """
    matching = Token.objects.filter(id=token_id, **({"principal_id": of} if of else {}))
    level = _lock(matching)
    if not level:
        raise UnknownToken("The token does not exist, or it is not yours.")
    while level := [token for token in level if token.revoked_at is None]:
        ids = [token.id for token in level]
        Token.objects.filter(id__in=ids).update(revoked_at=Now())
        audit.record_many("token", [_revocation(token) for token in level], actor=actor)
        for handler in _on_revocation:
            handler(ids, actor)
        # Only now, when a token that was being created with one of these is committed or rejected.
        level = _lock(Token.objects.filter(parent__in=ids))


def count_descendants(token_id: UUID) -> int:
    """Return the number of valid descendants: tokens created with this one, at any depth."""
    count, level = 0, [token_id]
    while level:
        level = list(Token.objects.filter(parent__in=level, revoked_at=None).values_list("id", flat=True))
        count += len(level)
    return count


def _lock(tokens: QuerySet[Token]) -> list[Token]:
    return list(tokens.select_for_update(of=("self",)).select_related("principal").order_by("id"))


def lock_token(token_id: UUID) -> Token:
    """Lock and return the token in use. Raises NotAuthenticated if it is no longer valid.

    A revocation waits for this transaction, or this transaction waits for the revocation.
    """
    rows = Token.objects.select_for_update(no_key=True, of=("self",)).select_related("principal")
    token = rows.annotate(now=Now()).filter(id=token_id).first()
    if token is None or token.revoked_at is not None or not token.principal.is_active:
        raise NotAuthenticated("Your token was revoked. Create a new one.")
    if token.expires_at is not None and token.expires_at <= token.now:
        raise NotAuthenticated("Your token has expired. Create a new one.")
    return token


def _emergency_token(caller: Caller) -> UUID | None:
    """Return the token of the caller's emergency access: what a session creates meanwhile ends with it."""
    if caller.grants_end_at is None or caller.principal_id is None:
        return None
    rows = EmergencyAccess.objects.filter(principal_id=caller.principal_id, binding__isnull=False)
    access = rows.filter(closed_at=None, ends_at__gt=Now()).first()
    return access.token_id if access else None


def _check_rights(principal: Principal, issuer: Caller) -> None:
    if principal.id == issuer.principal_id:
        return
    missing = missing_rights(caller_for(principal).grants, issuer.grants)
    if missing:
        raise PermissionDenied(
            f"You cannot create a token for {principal.name}, who has permissions that you lack:"
            f" {', '.join(missing)}.",
            action=Action.ACCESS_WRITE.value,
        )


def _revocation(token: Token) -> Mutation:
    state = {"principal": token.principal.name, "name": token.name}
    return Mutation(
        event_types.TOKEN_REVOKED,
        str(token.id),
        {**state, "revoked": False},
        {**state, "revoked": True},
        {"principal": token.principal.name, "token_id": str(token.id)},
    )
