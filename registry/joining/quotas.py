"""The quota of join tokens: those with which an agent can still join."""

from __future__ import annotations

from controlplane.pools.quota_rules import Added, Countable, Owner, declare
from controlplane.pools.quotas import check
from registry.joining.models import JoinToken

_ROWS = """
SELECT team.slug AS owner, '' AS domain, '' AS project, '' AS workflow, '' AS launch_plan,
       1 AS units
  FROM registry_jointoken AS token LEFT JOIN access_team AS team ON team.id = token.team_id
 WHERE token.revoked_at IS NULL AND token.uses_left > 0 AND token.expires_at > statement_timestamp()
"""
JOIN_TOKENS = declare(
    Countable(
        "join-tokens",
        "join tokens",
        _ROWS,
        "Revoke a join token that nobody needs.",
        "join token",
        Owner.TEAM,
    )
)


def check_new_token(token: JoinToken) -> None:
    """Raise QuotaExceeded if there are too many join tokens now. Call after the insertion."""
    check(JOIN_TOKENS, [Added(token.team.slug if token.team else "")])
