"""Who may have a name: grants, releases, and how a name goes from team to team. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats.wildcards import matches
from registry.agent_configs.documents.published import Claim, ClaimKind

# An exact name is more specific than any pattern, however long.
_EXACT = 1 << 16


class OwnershipMode(StrEnum):
    """open: first come. granted: nobody has a task type that was not granted."""

    OPEN = "open"
    GRANTED = "granted"


@dataclass(frozen=True, slots=True)
class Grant:
    """An administrator's word that a team may have what fits a pattern, such as `acme_*`."""

    team: str
    pattern: str
    kind: ClaimKind = ClaimKind.TASK_TYPE

    def specificity(self, kind: ClaimKind, name: str) -> int:
        """How closely the grant fits a name; 0 if it does not."""
        if kind is not self.kind:
            return 0
        if "*" not in self.pattern:
            return _EXACT if self.pattern == name else 0
        return 1 + len(self.pattern.replace("*", "")) if matches(self.pattern, name) else 0


@dataclass(frozen=True, slots=True)
class Release:
    """An owner's word that a team gives a name up as soon as somebody else claims it."""

    team: str
    kind: ClaimKind
    name: str


@dataclass(frozen=True, slots=True)
class Ownership:
    """All that was said about who may have what."""

    mode: OwnershipMode = OwnershipMode.OPEN
    grants: tuple[Grant, ...] = ()
    releases: frozenset[Release] = frozenset()

    def specificity(self, claim: Claim) -> int:
        """Of the closest grant that the claim's team has; 0 without one."""
        fits = (
            grant.specificity(claim.key.kind, claim.key.name)
            for grant in self.grants
            if grant.team == claim.team
        )
        return max(fits, default=0)

    def allows(self, claim: Claim) -> bool:
        """False where only granted task types may be had, and this one was not."""
        governed = self.mode is OwnershipMode.GRANTED and claim.key.kind is ClaimKind.TASK_TYPE
        return not governed or self.specificity(claim) > 0

    def is_released(self, claim: Claim) -> bool:
        return Release(claim.team, claim.key.kind, claim.key.name) in self.releases


@dataclass(frozen=True, slots=True)
class Transfer:
    """An administrator's order: the name goes over at once."""

    kind: ClaimKind
    name: str
    from_team: str
    to_team: str


def apply_transfer(ownership: Ownership, order: Transfer, claims: Iterable[Claim]) -> Ownership:
    """Ownership after a transfer; the next bundle has the name in one place alone.

    Raises InvalidRequest if the new owner does not claim the name, for nobody would serve it; or if the team
    that is to give it has nothing to give, for then another one is meant.
    """
    claiming = {
        claim.team for claim in claims if (claim.key.kind, claim.key.name) == (order.kind, order.name)
    }
    former = Grant(order.from_team, order.name, order.kind)
    if order.from_team not in claiming and former not in ownership.grants:
        message = f"{order.from_team} has neither a claim to {order.name} nor a grant of it. Look who has it."
        raise InvalidRequest(message, errors=[FieldError("/from_team", "no_claim", message)])
    if order.to_team not in claiming:
        message = f"{order.to_team} publishes no claim to {order.name} yet. Publish it, then transfer."
        raise InvalidRequest(message, errors=[FieldError("/to_team", "no_claim", message)])
    grant = Grant(order.to_team, order.name, order.kind)
    released = Release(order.to_team, order.kind, order.name)
    return replace(
        ownership,
        grants=(*(existing for existing in ownership.grants if existing not in (former, grant)), grant),
        releases=ownership.releases - {released},
    )
