"""Issuer rules of join tokens: whose tokens are accepted in place of a join token. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from controlplane.access.federation.rule_checks import match_errors
from controlplane.access.federation.rules import MAX_SECONDS, missed_claims
from controlplane.errors import FieldError, InvalidRequest


@dataclass(frozen=True, slots=True)
class IssuerRule:
    """Which tokens of a trusted issuer admit agents.

    match: patterns of claims, all of which must match. audience: that the token must have; empty for any of
    the issuer's. ttl: of the agent's credential in seconds; the agent joins again before it expires.
    """

    issuer: str
    match: Mapping[str, str]
    audience: str = ""
    ttl: int = MAX_SECONDS

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> IssuerRule | None:
        """Return the stored rule; None for one of a later release, which may demand what is unknown here."""
        return cls(**row) if row.keys() <= _MEMBERS else None

    def missed(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the claims of a verified token that do not match."""
        return missed_claims(self.match, self.audience, claims)

    def check(self) -> None:
        """Raise InvalidRequest unless the rule names the workloads that it admits."""
        errors: list[FieldError] = match_errors(self.match, self.issuer, "/issuer_rule/match")
        if errors:
            raise InvalidRequest(errors[0].message, errors=errors)


def show_issuer_rule(rule: IssuerRule) -> dict[str, Any]:
    return {"issuer": rule.issuer, "match": dict(rule.match), "audience": rule.audience, "ttl": rule.ttl}


_MEMBERS = frozenset(field.name for field in fields(IssuerRule))
