"""Rules that map tokens of a trusted issuer to principals. Pure.

The first rule whose claims all match decides. An explanation names claims, never their values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controlplane.access.federation.globs import matches
from controlplane.access.issuers.verify import audiences_of

MAX_SECONDS = 3600
MIN_SECONDS = 60
DEFAULT_SCOPES = ("all",)
AUDIENCE = "aud"
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._@-]{0,61}[A-Za-z0-9])?")
_MAX_LENGTH = 2000
_ABSENT: Any = object()


@dataclass(frozen=True, slots=True)
class Rule:
    """Which tokens act as which principal.

    match: patterns of claims, all of which must match. audience: that the token must have; empty for any of
    the issuer's. principal, or principal_template with one placeholder such as `gh-{repository_id}`. ttl: of
    the resulting token, in seconds.
    """

    match: Mapping[str, str]
    principal: str = ""
    principal_template: str = ""
    audience: str = ""
    scopes: tuple[str, ...] = DEFAULT_SCOPES
    ttl: int = MAX_SECONDS


@dataclass(frozen=True, slots=True)
class RuleResult:
    """How a rule judges a token. missed: the claims that did not match; none if the rule matches."""

    rule: Rule
    missed: tuple[str, ...]
    principal: str = ""

    @property
    def is_match(self) -> bool:
        return not self.missed


@dataclass(frozen=True, slots=True)
class Judgement:
    """How all rules judge a token, in their order."""

    results: tuple[RuleResult, ...] = field(default=())

    @property
    def first_match(self) -> int | None:
        return next((index for index, result in enumerate(self.results) if result.is_match), None)

    @property
    def nearest_miss(self) -> tuple[str, ...]:
        """Return the claims that the nearest rule missed."""
        return min((result.missed for result in self.results), key=len, default=())


def judge(rules: Sequence[Rule], claims: Mapping[str, Any]) -> Judgement:
    """Return how each rule judges the claims of a verified token."""
    return Judgement(tuple(_apply(rule, claims) for rule in rules))


def missed_claims(match: Mapping[str, str], audience: str, claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the claims that do not match."""
    missed = [name for name, pattern in match.items() if not _claim_matches(claims, name, pattern)]
    if audience and audience not in audiences_of(claims):
        missed.append(AUDIENCE)
    return tuple(missed)


def claim_at(claims: Mapping[str, Any], path: str) -> Any:
    """Return the claim at a path such as `kubernetes.io/serviceaccount/name`; None if it is absent.

    Names may contain slashes: the longest name that exists wins.
    """
    value = _value_at(claims, path)
    return None if value is _ABSENT else value


def texts_of(value: Any) -> tuple[str, ...]:
    """Return a claim's value as texts: those of a list, or its only one. Objects have none."""
    values = value if isinstance(value, list) else [value]
    return tuple(text for item in values if (text := _text(item)) is not None)


def placeholders(template: str) -> list[str]:
    return _PLACEHOLDER.findall(template)


def lifetime(*, ttl: int, max_ttl: int, expires_at: float, now: float) -> int:
    """Return the seconds for which the result is valid: never longer than the token that it is for."""
    return max(0, min(ttl, max_ttl, MAX_SECONDS, int(expires_at - now)))


def _apply(rule: Rule, claims: Mapping[str, Any]) -> RuleResult:
    missed = missed_claims(rule.match, rule.audience, claims)
    if missed or rule.principal:
        return RuleResult(rule, missed, "" if missed else rule.principal)
    name = _render(rule.principal_template, claims)
    if name is None:
        return RuleResult(rule, tuple(placeholders(rule.principal_template)))
    return RuleResult(rule, (), name)


def _render(template: str, claims: Mapping[str, Any]) -> str | None:
    """Return the principal's name, or None if a claim is absent or makes no name."""

    def text_of(found: re.Match[str]) -> str:
        return _text(claim_at(claims, found[1])) or "/"

    name = _PLACEHOLDER.sub(text_of, template)
    return name if _NAME.fullmatch(name) else None


def _claim_matches(claims: Mapping[str, Any], path: str, pattern: str) -> bool:
    return any(matches(pattern, text) for text in texts_of(claim_at(claims, path)))


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return value if isinstance(value, str) and len(value) <= _MAX_LENGTH else None


def _value_at(claims: Mapping[str, Any], path: str) -> Any:
    if path in claims:
        return claims[path]
    for head, rest in _splits(path):
        below = claims.get(head)
        if isinstance(below, Mapping) and (value := _value_at(below, rest)) is not _ABSENT:
            return value
    return _ABSENT


def _splits(path: str) -> Iterator[tuple[str, str]]:
    """Return the path split at each slash, with the longest head first."""
    position = path.rfind("/")
    while position > 0:
        yield path[:position], path[position + 1 :]
        position = path.rfind("/", 0, position)
