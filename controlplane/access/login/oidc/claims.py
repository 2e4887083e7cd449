"""Claims of an identity provider: the teams and roles that they give. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.errors import InvalidScope, TooManyGroups
from controlplane.scopes import Scope

# What replaces `*`: anything else could change the meaning of a scope, and an empty segment means "any".
_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_MAX_VALUES = 2000


@dataclass(frozen=True, slots=True)
class ClaimRule:
    """A value of a claim, and the team and role that it gives.

    value: exact, or with `*` at its end. scope: segments of the role's scope, in which `*` stands for the
    part of the value that `*` matched. team: also limits the role to objects of this team.
    """

    claim: str
    value: str
    team: str = ""
    role: str = ""
    scope: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class RoleClaim:
    """A role at a scope, limited to objects of a team unless `team` is None."""

    role: str
    scope: Scope = Scope()
    team: str | None = None


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule that matched a value, and what it gives. problem: why its role is not given."""

    rule_number: int
    value: str
    team: str | None
    role: RoleClaim | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ClaimedAccess:
    """The teams and roles of a person by claims, each a set."""

    teams: frozenset[str]
    roles: frozenset[RoleClaim]


def claimed_access(rules: Sequence[ClaimRule], claims: Mapping[str, Any]) -> ClaimedAccess:
    """Return what the rules give for the claims."""
    matches = match_rules(rules, claims)
    return ClaimedAccess(
        frozenset(match.team for match in matches if match.team),
        frozenset(match.role for match in matches if match.role),
    )


def match_rules(rules: Sequence[ClaimRule], claims: Mapping[str, Any]) -> list[RuleMatch]:
    """Return each match of a rule with a value, in the order of the rules."""
    return [
        match
        for number, rule in enumerate(rules, start=1)
        for value in values_of(claims, rule.claim)
        if (match := _match(number, rule, value))
    ]


def values_of(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the texts of a claim, which may be within others: `realm_access.roles`."""
    value = claims.get(name)
    if value is None and "." in name:
        value = _nested(claims, name.split("."))
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return tuple(item for item in value[:_MAX_VALUES] if isinstance(item, str))
    return ()


def check_groups_complete(claims: Mapping[str, Any], group_claim: str) -> None:
    """Raise TooManyGroups if the provider left out the groups because there are too many (Entra ID)."""
    elsewhere = claims.get("_claim_names")
    is_elsewhere = isinstance(elsewhere, Mapping) and (group_claim in elsewhere or "groups" in elsewhere)
    if (is_elsewhere or claims.get("hasgroups") in (True, "true")) and group_claim in ("groups", ""):
        raise TooManyGroups(
            "Your account has too many groups: use app roles (`roles` claim). Ask an administrator to"
            " assign app roles in Entra ID, and to set `group_claim` to `roles`."
        )


def _match(number: int, rule: ClaimRule, value: str) -> RuleMatch | None:
    part = _matched_part(rule.value, value)
    if part is None:
        return None
    team = rule.team or None
    if not rule.role:
        return RuleMatch(number, value, team, None)
    try:
        role = RoleClaim(rule.role, _filled_scope(rule.scope or {}, part), team)
    except InvalidScope as error:
        return RuleMatch(number, value, team, None, error.detail)
    return RuleMatch(number, value, team, role)


def _matched_part(pattern: str, value: str) -> str | None:
    """Return the part that `*` matched, "" for an exact match, None for no match."""
    if not pattern.endswith("*"):
        return "" if value == pattern else None
    prefix = pattern[:-1]
    part = value.removeprefix(prefix)
    return part if value.startswith(prefix) and _PART.fullmatch(part) else None


def _filled_scope(segments: Mapping[str, str], part: str) -> Scope:
    if not part and any("*" in segment for segment in segments.values()):
        raise InvalidScope("`*` in the scope has no value: the rule's value does not end with `*`.")
    return Scope(**{name: segment.replace("*", part) for name, segment in segments.items()})


def _nested(claims: Mapping[str, Any], path: Iterable[str]) -> Any:
    value: Any = claims
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value
