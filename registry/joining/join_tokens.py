"""Join tokens: made and revoked by operators, used up by agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from controlplane.access import audit, tokens
from controlplane.access.issue_tokens import check_within
from controlplane.access.models import AuditRecord
from controlplane.errors import NotAuthenticated, UnknownJoinToken
from controlplane.identity.actors import Actor
from registry.joining.event_types import JOIN_TOKEN_MADE, JOIN_TOKEN_REFUSED, JOIN_TOKEN_REVOKED
from registry.joining.models import JoinToken
from registry.joining.terms import Invitation

_QUIET = timedelta(minutes=1)
_LOOKED_THROUGH = 20


@dataclass(frozen=True, slots=True)
class Terms:
    """uses: how many agents it lets in. may_take_over: also under a name that is taken."""

    invitation: Invitation
    expires_at: datetime
    uses: int = 1
    needs_approval: bool = False
    may_take_over: bool = False


@transaction.atomic
def create_join_token(
    name: str, terms: Terms, *, actor: Actor, issuer_id: UUID | None = None
) -> tuple[JoinToken, str]:
    """Create a token. The secret is returned here and never again.

    issuer_id: of the access token that the caller uses. Raises InvalidRequest for what would outlive it.
    """
    if issuer_id is not None:
        check_within(terms.expires_at, issuer_id, "/expires_in_seconds")
    secret = tokens.new_token(tokens.Prefix.JOIN)
    token = JoinToken.objects.create(
        name=name,
        hint=tokens.hint(secret),
        digest=tokens.digest(secret),
        name_pattern=terms.invitation.name_pattern,
        environment=terms.invitation.environment,
        service_types=sorted(terms.invitation.service_types),
        needs_approval=terms.needs_approval,
        may_take_over=terms.may_take_over,
        uses_left=terms.uses,
        created_by=actor.name,
        expires_at=terms.expires_at,
        issuer_id=issuer_id,
    )
    token.refresh_from_db()
    _record(JOIN_TOKEN_MADE, token, actor, before=None, after=_shown(token))
    return token, secret


@transaction.atomic
def revoke_join_token(token_id: UUID, *, actor: Actor) -> None:
    """Raises UnknownJoinToken."""
    token = JoinToken.objects.select_for_update().filter(id=token_id, revoked_at=None).first()
    if token is None:
        raise UnknownJoinToken("There is no such join token, or it was revoked before.")
    JoinToken.objects.filter(id=token_id).update(revoked_at=Now())
    _record(JOIN_TOKEN_REVOKED, token, actor, before=_shown(token), after=None)


def revoke_join_tokens_of(issuers: Sequence[UUID], actor: Actor) -> None:
    """Revoke the join tokens that were created with access tokens which are being revoked."""
    found = JoinToken.objects.select_for_update().filter(issuer_id__in=issuers, revoked_at=None)
    for token in found.order_by("id"):
        revoke_join_token(token.id, actor=actor)


def find_join_token(secret: str, *, repeats: bool = False) -> JoinToken:
    """Return the valid token with this secret. Raises NotAuthenticated, saying what is wrong.

    repeats: the caller may have joined with it before, so it may be used up or have expired since.
    """
    if not (secret.startswith(tokens.Prefix.JOIN) and tokens.looks_like_token(secret)):
        raise NotAuthenticated("Join with a join token: Authorization: Bearer cp_joi_…")
    token = JoinToken.objects.filter(digest=tokens.digest(secret)).annotate(now=Now()).first()
    if token is None:
        raise NotAuthenticated("This join token is not known here. It may belong to another installation.")
    if token.revoked_at is not None:
        raise NotAuthenticated("This join token was revoked. Ask for a new one.")
    if repeats:
        return token
    if token.expires_at <= token.now:
        raise NotAuthenticated("This join token has expired. Ask for a new one.")
    if token.uses_left == 0:
        raise NotAuthenticated("This join token is used up. Ask for a new one.")
    return token


def valid_join_tokens(digests: Iterable[bytes]) -> dict[bytes, JoinToken]:
    """Those of the tokens with these digests that still let somebody in."""
    found = JoinToken.objects.filter(
        digest__in=digests, uses_left__gt=0, revoked_at=None, expires_at__gt=Now()
    )
    return {bytes(one.digest): one for one in found}


def use(token: JoinToken, count: int = 1) -> bool:
    """Count uses, in the transaction of the join; False if so many are not left.

    Two that meet cannot both have the last one.
    """
    valid = JoinToken.objects.filter(id=token.id, uses_left__gte=count, revoked_at=None, expires_at__gt=Now())
    return bool(valid.update(uses_left=F("uses_left") - count))


@transaction.atomic
def note_refusal(secret: str, reason: str, *, request_id: str) -> None:
    """Put into the audit log that a join was refused: a token may have been stolen.

    Secrets that were never ours are not noted, nor is the same reason again within a minute, or anybody,
    and every agent that tries again, could fill the log.
    """
    token = JoinToken.objects.filter(digest=tokens.digest(secret)).first()
    if token is not None and reason not in _noted_lately(token):
        actor = Actor(None, f"join token {token.name}"[:63], request_id, reason)
        _record(JOIN_TOKEN_REFUSED, token, actor, {"reason": reason}, before=None, after=None)


def _noted_lately(token: JoinToken) -> set[str]:
    """Why somebody with this token was refused within the last minute, as far as its newest records tell."""
    newest = AuditRecord.objects.filter(object_type="join_token", object_id=str(token.id)).order_by("-id")
    return {
        one.reason
        for one in newest.annotate(now=Now())[:_LOOKED_THROUGH]
        if one.action == JOIN_TOKEN_REFUSED.name and one.now - one.at < _QUIET
    }


def _shown(token: JoinToken) -> dict[str, Any]:
    names = (
        "name",
        "hint",
        "name_pattern",
        "environment",
        "service_types",
        "needs_approval",
        "may_take_over",
    )
    return {name: getattr(token, name) for name in names} | {"expires_at": token.expires_at.isoformat()}


def _record(
    fact: Any, token: JoinToken, actor: Actor, more: Mapping[str, Any] | None = None, **change: Any
) -> None:
    audit.record(
        fact,
        "join_token",
        str(token.id),
        actor=actor,
        data={"join_token_id": str(token.id), "name": token.name, **(more or {})},
        **change,
    )
