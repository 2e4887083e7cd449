"""Ownership of names: grants, releases, pins and transfers between teams. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats.wildcards import matches
from registry.agent_configs.documents.published import Claim, ClaimKind

# An exact name is more specific than any pattern, however long.
_EXACT = 1 << 16


class OwnershipMode(StrEnum):
    """open: first come, first served. granted: task types require a grant."""

    OPEN = "open"
    GRANTED = "granted"


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission for a team to claim names that match a pattern, such as `acme_*`."""

    team: str
    pattern: str
    kind: ClaimKind = ClaimKind.TASK_TYPE

    def specificity(self, kind: ClaimKind, name: str) -> int:
        """Return how specifically the grant matches a name; 0 if it does not match."""
        if kind is not self.kind:
            return 0
        if "*" not in self.pattern:
            return _EXACT if self.pattern == name else 0
        return 1 + len(self.pattern.replace("*", "")) if matches(self.pattern, name) else 0


@dataclass(frozen=True, slots=True)
class Release:
    """A team's consent to give up a name once another team claims it."""

    team: str
    kind: ClaimKind
    name: str


@dataclass(frozen=True, slots=True)
class Pin:
    """An administrator's decision that a team has a name, whatever other teams publish."""

    team: str
    kind: ClaimKind
    name: str


@dataclass(frozen=True, slots=True)
class Ownership:
    """All grants, releases and pins in effect, and the mode in which they apply."""

    mode: OwnershipMode = OwnershipMode.OPEN
    grants: tuple[Grant, ...] = ()
    releases: frozenset[Release] = frozenset()
    pins: frozenset[Pin] = frozenset()

    def specificity(self, claim: Claim) -> int:
        """Return the specificity of the team's closest grant; 0 without one."""
        fits = (
            grant.specificity(claim.key.kind, claim.key.name)
            for grant in self.grants
            if grant.team == claim.team
        )
        return max(fits, default=0)

    def allows(self, claim: Claim) -> bool:
        """False if task types require a grant and the team has none for this one."""
        governed = self.mode is OwnershipMode.GRANTED and claim.key.kind is ClaimKind.TASK_TYPE
        return not governed or self.specificity(claim) > 0

    def is_released(self, claim: Claim) -> bool:
        return Release(claim.team, claim.key.kind, claim.key.name) in self.releases

    def is_pinned(self, claim: Claim) -> bool:
        """True if the name is pinned to the team of this claim."""
        return Pin(claim.team, claim.key.kind, claim.key.name) in self.pins


@dataclass(frozen=True, slots=True)
class Transfer:
    """An administrator's request to move a name to another team at once."""

    kind: ClaimKind
    name: str
    from_team: str
    to_team: str


def apply_transfer(ownership: Ownership, order: Transfer, claims: Iterable[Claim]) -> Ownership:
    """Return the ownership after a transfer; the next bundle has the name only once.

    Raises InvalidRequest if the new owner does not claim the name, because nobody would serve it, if the
    previous team has neither a claim nor a grant, or if the name is pinned to it.
    """
    claiming = claiming_teams(order.kind, order.name, claims)
    if Pin(order.from_team, order.kind, order.name) in ownership.pins:
        message = f"{order.name} is pinned to {order.from_team}. Unpin it, then transfer it."
        raise InvalidRequest(message, errors=[FieldError("/from_team", "pinned", message)])
    former = Grant(order.from_team, order.name, order.kind)
    if order.from_team not in claiming and former not in ownership.grants:
        message = f"{order.from_team} neither claims {order.name} nor has a grant of it. Check its owner."
        raise InvalidRequest(message, errors=[FieldError("/from_team", "no_claim", message)])
    if order.to_team not in claiming:
        message = f"{order.to_team} does not claim {order.name} yet. Publish a claim, then transfer it."
        raise InvalidRequest(message, errors=[FieldError("/to_team", "no_claim", message)])
    grant = Grant(order.to_team, order.name, order.kind)
    released = Release(order.to_team, order.kind, order.name)
    return replace(
        ownership,
        grants=(*(existing for existing in ownership.grants if existing not in (former, grant)), grant),
        releases=ownership.releases - {released},
    )


def claiming_teams(kind: ClaimKind, name: str, claims: Iterable[Claim]) -> set[str]:
    """Return the teams whose documents claim the name."""
    return {claim.team for claim in claims if (claim.key.kind, claim.key.name) == (kind, name)}


def check_pin(pin: Pin, claims: Iterable[Claim], until: datetime | None, *, now: datetime) -> None:
    """Raise InvalidRequest if the team does not claim the name, or if the pin would have ended already."""
    if pin.team not in claiming_teams(pin.kind, pin.name, claims):
        message = f"{pin.team} does not claim {pin.name}. Pin it to a team that does."
        raise InvalidRequest(message, errors=[FieldError("/team", "no_claim", message)])
    if until is not None and until <= now:
        message = "until must be in the future. To pin without an end, omit it."
        raise InvalidRequest(message, errors=[FieldError("/until", "in_the_past", message)])
