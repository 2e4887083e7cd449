"""Decide which approval policies hold a change. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self
from uuid import UUID

from controlplane.scopes import Scope

MOST_APPROVALS = 5


@dataclass(frozen=True, slots=True)
class Policy:
    """Changes of overrides at and below the scope need this number of approvals."""

    id: UUID
    scope: Scope
    approvals: int
    created_by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Bypass:
    """The wish to change overrides without approvals. scopes: at and below which the caller may do so."""

    reason: str
    scopes: tuple[Scope, ...]

    def reaches(self, policy: Policy) -> bool:
        """True if the caller holds the permission at the policy's scope, not only at that of the change."""
        return any(scope.covers(policy.scope) for scope in self.scopes)


@dataclass(frozen=True, slots=True)
class Consent:
    """What a change has in the place of approvals, or of which it has some. approvals: their number."""

    approvals: int = 0
    bypass: Bypass | None = None

    def without_bypass(self) -> Self:
        return replace(self, bypass=None)


NO_CONSENT = Consent()


def policies_over(policies: Iterable[Policy], scopes: Iterable[Scope]) -> tuple[Policy, ...]:
    """Return the policies that cover one of the scopes, the strictest first."""
    changed = set(scopes)
    covering = [policy for policy in policies if any(policy.scope.covers(scope) for scope in changed)]
    return tuple(sorted(covering, key=lambda policy: (-policy.approvals, policy.scope.level, str(policy.id))))


def required_by(policies: Sequence[Policy]) -> int:
    """Return how many approvals satisfy all the policies."""
    return max((policy.approvals for policy in policies), default=0)


def unsatisfied(policies: Iterable[Policy], consent: Consent) -> tuple[Policy, ...]:
    """Return the policies that require more approvals than there are."""
    return tuple(policy for policy in policies if policy.approvals > consent.approvals)


def refusing(policies: Iterable[Policy], consent: Consent) -> tuple[Policy, ...]:
    """Return the policies that refuse the change: neither satisfied nor bypassed."""
    bypass = consent.bypass
    return tuple(
        policy for policy in unsatisfied(policies, consent) if bypass is None or not bypass.reaches(policy)
    )


def sentence(policy: Policy, approvals: int = 0) -> str:
    """Return who demands how many approvals where, as one sentence."""
    number = f"{policy.approvals} approval{'s' if policy.approvals > 1 else ''}"
    present = f"; it has {approvals}" if approvals else ""
    return (
        f"Changes of overrides at {policy.scope} need {number} by a policy of {policy.created_by}{present}."
    )
