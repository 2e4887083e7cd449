"""Use of refresh tokens: rotation, grace for parallel clients, and detection of stolen tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from django.conf import settings

from controlplane.access import login_event_types, tokens
from controlplane.access.oauth.issuance import lock_family, revoke_family
from controlplane.access.oauth.models import OAuthClient, RefreshToken, TokenFamily
from controlplane.database.clock import statement_now


class Ruling(Enum):
    """What a refresh token gives its client."""

    ROTATE = "rotate"
    REFUSE = "refuse"
    REVOKE_FAMILY = "revoke_family"


@dataclass(frozen=True, slots=True)
class RefreshFacts:
    """A refresh token with its family. newest_generation: of the family's newest refresh token."""

    now: datetime
    expires_at: datetime
    generation: int
    newest_generation: int
    replaced_at: datetime | None
    is_revoked: bool
    grace: timedelta


def ruling_of(facts: RefreshFacts) -> Ruling:
    """Decide about a refresh token. Only the direct predecessor of the newest token has a grace period.

    Clients that share a keyring may refresh at the same time. A token of an earlier generation, or one that
    was replaced some time ago, was copied.
    """
    if facts.is_revoked:
        return Ruling.REFUSE
    if facts.replaced_at is None:
        return Ruling.REFUSE if facts.expires_at <= facts.now else Ruling.ROTATE
    is_predecessor = facts.generation == facts.newest_generation - 1
    in_grace = facts.now < facts.replaced_at + facts.grace
    return Ruling.ROTATE if is_predecessor and in_grace else Ruling.REVOKE_FAMILY


def lock_refresh_token(secret: str, client: OAuthClient) -> RefreshToken | None:
    """Return a refresh token that the client may use, with its family locked; None if it is refused.

    A reused token revokes its family. `mark_replaced` uses the token up, once its successor is issued: a
    request that is refused for another reason does not.
    """
    row = RefreshToken.objects.filter(digest=tokens.digest(secret), family__client=client).first()
    if row is None:
        return None
    family = lock_family(row.family_id)
    row.refresh_from_db()
    ruling = ruling_of(_facts(row, family))
    if ruling is Ruling.REVOKE_FAMILY:
        revoke_family(family, login_event_types.OAUTH_REFRESH_REUSED)
    if ruling is not Ruling.ROTATE or not family.principal.is_active:
        return None
    row.family = family
    return row


def mark_replaced(row: RefreshToken) -> None:
    """Remember the first use of a token."""
    RefreshToken.objects.filter(id=row.id, replaced_at=None).update(replaced_at=statement_now())


def _facts(row: RefreshToken, family: TokenFamily) -> RefreshFacts:
    return RefreshFacts(
        now=statement_now(),
        expires_at=row.expires_at,
        generation=row.generation,
        newest_generation=family.generation,
        replaced_at=row.replaced_at,
        is_revoked=family.revoked_at is not None,
        grace=timedelta(seconds=settings.OAUTH_REFRESH_GRACE_SECONDS),
    )
