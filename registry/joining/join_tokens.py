"""Create, revoke, look up and spend join tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from controlplane.access import audit, tokens
from controlplane.access.issue_tokens import check_within
from controlplane.access.issuer_models import TrustedIssuer
from controlplane.access.models import AuditRecord
from controlplane.access.role_bindings import check_may_grant
from controlplane.access.team_models import Team
from controlplane.errors import FieldError, InvalidRequest, NotAuthenticated, UnknownJoinToken
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Action, Role
from registry.joining.event_types import JOIN_TOKEN_CREATED, JOIN_TOKEN_REFUSED, JOIN_TOKEN_REVOKED
from registry.joining.issuer_rules import IssuerRule, show_issuer_rule
from registry.joining.models import JoinToken, JoinTokenQuerySet
from registry.joining.quotas import check_new_token
from registry.joining.terms import JoinTerms

_REPEAT_INTERVAL = timedelta(minutes=1)
_MAX_RECENT_RECORDS = 20


@dataclass(frozen=True, slots=True)
class JoinTokenSpec:
    """A join token to create.

    uses: how many agents can join with it. may_take_over: an agent can replace another one of its name, of
    the same team if the token has one. team: owns the token and the agents that join with it.
    issuer_rule: whose tokens agents send in its place; the join token then has no secret.
    """

    terms: JoinTerms
    expires_at: datetime
    uses: int = 1
    needs_approval: bool = False
    may_take_over: bool = False
    team: Team | None = None
    issuer_rule: IssuerRule | None = None


def readable_join_tokens(caller: Caller) -> JoinTokenQuerySet:
    """Return the join tokens that the caller may read. Raises PermissionDenied without any right to."""
    caller.require_for_some_owner(Action.ACCESS_READ)
    rows: JoinTokenQuerySet = JoinToken.objects.within(caller).select_related("team")
    return rows


def check_may_create(caller: Caller, team: Team | None) -> None:
    """Raise PermissionDenied unless the caller may give agents the role that the join token gives them."""
    check_may_grant(caller, Grant(Role.AGENT, team=team.ref if team else None))


def lock_join_token(caller: Caller, token_id: UUID) -> JoinToken:
    """Lock a join token that the caller may revoke. Raises UnknownJoinToken, PermissionDenied."""
    rows = JoinToken.objects.within(caller).select_related("team").select_for_update(of=("self",))
    token = rows.filter(id=token_id).first()
    if token is None:
        raise UnknownJoinToken("This join token does not exist or is already revoked.")
    caller.require(Action.ACCESS_WRITE, owner=token.team_id)
    return token


@transaction.atomic
def create_join_token(
    name: str, spec: JoinTokenSpec, *, actor: Actor, issuer_id: UUID | None = None
) -> tuple[JoinToken, str | None]:
    """Create a join token and return it with its secret, which cannot be read again.

    The secret is None for a join token with an issuer rule. issuer_id: of the caller's access token. Raises
    InvalidRequest for an invalid rule, and if the join token would outlive the access token; QuotaExceeded.
    """
    if issuer_id is not None:
        check_within(spec.expires_at, issuer_id, "/expires_in_seconds")
    if spec.issuer_rule is not None:
        _check_rule(spec.issuer_rule)
    secret = tokens.new_token(tokens.Prefix.JOIN)
    token = JoinToken.objects.create(
        name=name,
        hint="" if spec.issuer_rule else tokens.hint(secret),
        digest=tokens.digest(secret),
        name_pattern=spec.terms.name_pattern,
        environment=spec.terms.environment,
        service_types=sorted(spec.terms.service_types),
        needs_approval=spec.needs_approval,
        may_take_over=spec.may_take_over,
        uses_left=spec.uses,
        created_by=actor.name,
        expires_at=spec.expires_at,
        issuer_id=issuer_id,
        team=spec.team,
        issuer_rule=show_issuer_rule(spec.issuer_rule) if spec.issuer_rule else None,
    )
    token.refresh_from_db()
    check_new_token(token)
    _record(JOIN_TOKEN_CREATED, token, actor, before=None, after=_token_facts(token))
    return token, None if spec.issuer_rule else secret


def _check_rule(rule: IssuerRule) -> None:
    if not TrustedIssuer.objects.filter(issuer=rule.issuer).exists():
        message = (
            f"{rule.issuer[:200]!r} is not a trusted issuer. Create it with POST /api/v1/trusted-issuers."
        )
        raise InvalidRequest(message, errors=[FieldError("/issuer_rule/issuer", "unknown_issuer", message)])
    rule.check()


@transaction.atomic
def revoke_join_token(token_id: UUID, *, actor: Actor) -> None:
    """Revoke the join token. Raises UnknownJoinToken."""
    token = JoinToken.objects.select_for_update().filter(id=token_id, revoked_at=None).first()
    if token is None:
        raise UnknownJoinToken("This join token does not exist or is already revoked.")
    JoinToken.objects.filter(id=token_id).update(revoked_at=Now())
    _record(JOIN_TOKEN_REVOKED, token, actor, before=_token_facts(token), after=None)


def revoke_join_tokens_of(issuers: Sequence[UUID], actor: Actor) -> None:
    """Revoke the join tokens that were created with these access tokens."""
    join_tokens = JoinToken.objects.select_for_update().filter(issuer_id__in=issuers, revoked_at=None)
    for token in join_tokens.order_by("id"):
        revoke_join_token(token.id, actor=actor)


def find_join_token(secret: str, *, repeats: bool = False) -> JoinToken:
    """Return the valid join token with this secret. Raises NotAuthenticated with the reason.

    repeats: the request may repeat a join, so the token may be used up or expired.
    """
    if not (secret.startswith(tokens.Prefix.JOIN) and tokens.looks_like_token(secret)):
        raise NotAuthenticated("Joining requires a join token: Authorization: Bearer cp_joi_…")
    token = _with_digest(secret).select_related("team").annotate(now=Now()).first()
    if token is None:
        raise NotAuthenticated("Unknown join token. It may belong to another installation.")
    if token.revoked_at is not None:
        raise NotAuthenticated("This join token was revoked. Request a new one.")
    if repeats:
        return token
    if token.expires_at <= token.now:
        raise NotAuthenticated("This join token has expired. Request a new one.")
    if token.uses_left == 0:
        raise NotAuthenticated("This join token is used up. Request a new one.")
    return token


def _with_digest(secret: str) -> QuerySet[JoinToken]:
    return JoinToken.objects.filter(digest=tokens.digest(secret))


def valid_join_tokens(digests: Iterable[bytes]) -> dict[bytes, JoinToken]:
    """Return the valid join tokens among these digests, by digest."""
    join_tokens = JoinToken.objects.select_related("team").filter(
        digest__in=digests, uses_left__gt=0, revoked_at=None, expires_at__gt=Now()
    )
    return {bytes(token.digest): token for token in join_tokens}


def spend_uses(token: JoinToken, count: int = 1) -> bool:
    """Spend uses of the token, in the transaction of the join; False if too few are left.

    Two concurrent joins cannot both spend the last use.
    """
    valid = JoinToken.objects.filter(id=token.id, uses_left__gte=count, revoked_at=None, expires_at__gt=Now())
    return bool(valid.update(uses_left=F("uses_left") - count))


@transaction.atomic
def record_refusal(secret: str, reason: str, *, request_id: str) -> None:
    """Record a refused join in the audit log: the token may have been stolen.

    Unknown secrets are not recorded, nor is the same reason again within a minute. Otherwise anybody, and
    every agent that retries, could fill the log.
    """
    token = _with_digest(secret).first()
    if token is not None and reason not in _recent_reasons(token):
        actor = Actor(None, f"join token {token.name}"[:63], request_id, reason)
        _record(JOIN_TOKEN_REFUSED, token, actor, {"reason": reason}, before=None, after=None)


def _recent_reasons(token: JoinToken) -> set[str]:
    """Return the reasons for which this token was refused in the last minute, from its newest records."""
    records = AuditRecord.objects.filter(object_type="join_token", object_id=str(token.id)).order_by("-id")
    return {
        record.reason
        for record in records.annotate(now=Now())[:_MAX_RECENT_RECORDS]
        if record.action == JOIN_TOKEN_REFUSED.name and record.now - record.at < _REPEAT_INTERVAL
    }


def _token_facts(token: JoinToken) -> dict[str, Any]:
    names = (
        "name",
        "hint",
        "name_pattern",
        "environment",
        "service_types",
        "needs_approval",
        "may_take_over",
        "issuer_rule",
    )
    owner = {"team": token.team.slug if token.team else None}
    return (
        {name: getattr(token, name) for name in names} | owner | {"expires_at": token.expires_at.isoformat()}
    )


def _record(
    event_type: Any,
    token: JoinToken,
    actor: Actor,
    extra_data: Mapping[str, Any] | None = None,
    **change: Any,
) -> None:
    audit.record(
        event_type,
        "join_token",
        str(token.id),
        actor=actor,
        data={"join_token_id": str(token.id), "name": token.name, **(extra_data or {})},
        team_id=token.team_id,
        **change,
    )
