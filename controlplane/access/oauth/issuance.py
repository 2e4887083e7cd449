"""Issue and revoke tokens. Digests of access tokens are in the table that every path checks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from controlplane.access import issue_tokens, login_event_types, tokens
from controlplane.access.models import Principal, Token
from controlplane.access.oauth import event_types
from controlplane.access.oauth.extension_grants import IssuedToken
from controlplane.access.oauth.models import OAuthAccessToken, OAuthClient, RefreshToken, TokenFamily
from controlplane.access.occurrences import record_occurrence
from controlplane.database.clock import statement_now
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor, system
from controlplane.observability.request_ids import current_request_id

_REVOKER = "oauth"
_NAME_LENGTH = 63


@dataclass(frozen=True, slots=True)
class Issue:
    """An access token to issue. family: None if it cannot be refreshed. client: None for token exchange."""

    principal: Principal
    scopes: tuple[str, ...]
    grant: str
    lifetime: timedelta
    client: OAuthClient | None = None
    family: TokenFamily | None = None
    audience: str = ""
    name: str = ""


def access_lifetime() -> timedelta:
    return timedelta(seconds=settings.OAUTH_ACCESS_TOKEN_SECONDS)


def issue(
    principal: Principal,
    scopes: tuple[str, ...],
    *,
    grant: str,
    lifetime: timedelta,
    name: str,
    client: OAuthClient | None = None,
) -> IssuedToken:
    """Issue an access token that cannot be refreshed, as token exchange does."""
    secret = tokens.new_token(tokens.Prefix.OAUTH)
    store_access_token(secret, Issue(principal, scopes, grant, lifetime, client, name=name))
    return IssuedToken(secret, int(lifetime.total_seconds()), " ".join(scopes))


@transaction.atomic
def store_access_token(secret: str, issue: Issue) -> Token:
    """Store the digest of an access token, with its scopes as a ceiling. Writes the audit record."""
    client_id = issue.client.client_id if issue.client else issue.name
    token = Token.objects.create(
        principal=issue.principal,
        name=(issue.name or client_id)[:_NAME_LENGTH],
        hint=tokens.hint(secret),
        digest=tokens.digest(secret),
        expires_at=statement_now() + issue.lifetime,
        scopes=list(issue.scopes),
        auth_time=issue.family.auth_time if issue.family else None,
    )
    OAuthAccessToken.objects.create(
        token=token,
        client=issue.client,
        family=issue.family,
        grant=issue.grant,
        audience=issue.audience,
        scopes=list(issue.scopes),
    )
    facts = {
        "client": client_id,
        "principal": issue.principal.name,
        "grant": issue.grant,
        "scopes": list(issue.scopes),
        "hint": token.hint,
    }
    actor = actor_of(issue.principal, issue.client)
    record_occurrence(login_event_types.OAUTH_TOKEN_ISSUED, str(token.id), actor=actor, data=facts)
    return token


def start_family(
    client: OAuthClient,
    principal: Principal,
    scopes: tuple[str, ...],
    *,
    grant: str,
    audience: str,
    auth_time: datetime | None,
) -> TokenFamily:
    """Create the family of the tokens that follow from one login. auth_time: when the person logged in."""
    ends_at = statement_now() + timedelta(seconds=settings.OAUTH_FAMILY_SECONDS)
    return TokenFamily.objects.create(
        client=client,
        principal=principal,
        scopes=list(scopes),
        grant=grant,
        audience=audience,
        auth_time=auth_time,
        ends_at=ends_at,
    )


def store_refresh_token(secret: str, family: TokenFamily, after: int = 0) -> RefreshToken:
    """Store the digest of a refresh token of a family, which the caller has locked or just created.

    after: generation of the token that it replaces, so that parallel successors have the same generation.
    """
    newest = max(family.generation, after + 1)
    TokenFamily.objects.filter(id=family.id).update(generation=newest)
    idle = statement_now() + timedelta(seconds=settings.OAUTH_REFRESH_TOKEN_SECONDS)
    return RefreshToken.objects.create(
        family=family,
        digest=tokens.digest(secret),
        generation=after + 1,
        expires_at=min(idle, family.ends_at),
    )


def lock_family(family_id: UUID) -> TokenFamily:
    """Lock a family: its refreshes, and its revocation, run one after the other."""
    return TokenFamily.objects.select_for_update().get(id=family_id)


@transaction.atomic
def revoke_family(family: TokenFamily, reason: EventType = event_types.TOKENS_REVOKED) -> None:
    """Revoke all tokens of a family, and what was created with them. Revoking again changes nothing."""
    family = lock_family(family.id)
    if family.revoked_at is not None:
        return
    TokenFamily.objects.filter(id=family.id).update(revoked_at=Now())
    actor = system(_REVOKER)
    for token_id in Token.objects.filter(oauth__family=family, revoked_at=None).values_list("id", flat=True):
        issue_tokens.revoke_token(token_id, of=None, actor=actor)
    facts = {"client": family.client.client_id, "principal": family.principal.name}
    record_occurrence(reason, str(family.id), actor=actor, data=facts)


@transaction.atomic
def revoke_all_of_client(client: OAuthClient, *, actor: Actor) -> None:
    """Revoke all tokens of a client that was disabled or deleted."""
    for family in TokenFamily.objects.filter(client=client, revoked_at=None).order_by("id"):
        revoke_family(family)
    for token_id in Token.objects.filter(oauth__client=client, revoked_at=None).values_list("id", flat=True):
        issue_tokens.revoke_token(token_id, of=None, actor=actor)


def actor_of(principal: Principal, client: OAuthClient | None = None) -> Actor:
    """Return the principal as the actor, through the client."""
    client_id = client.client_id if client else ""
    return Actor(principal.id, principal.name, current_request_id(), client=client_id)
