"""Scopes: where an override applies, from the whole installation down to one launch plan. Pure.

There are six valid shapes. DOMAIN and PROJECT are siblings below GLOBAL, so a scope is not a simple path: it
covers another scope if all its non-empty segments are equal there.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from controlplane.errors import FieldError, InvalidScope

SEGMENTS = ("domain", "project", "workflow", "launch_plan")
# People name the project before the domain.
_DISPLAY_ORDER = ("project", "domain", "workflow", "launch_plan")
# The width of Flyte's columns.
MAX_SEGMENT_LENGTH = 255


class Level(IntEnum):
    """How specific a scope is. The numbers are the precedence: higher wins."""

    GLOBAL = 0
    DOMAIN = 1
    PROJECT = 2
    PROJECT_DOMAIN = 3
    WORKFLOW = 4
    LAUNCH_PLAN = 5


LEVEL_NAMES = [(level.name.lower(), level.name.lower()) for level in Level]

# The valid shapes: the non-empty segments of each level.
SHAPES: dict[frozenset[str], Level] = {
    frozenset(): Level.GLOBAL,
    frozenset({"domain"}): Level.DOMAIN,
    frozenset({"project"}): Level.PROJECT,
    frozenset({"project", "domain"}): Level.PROJECT_DOMAIN,
    frozenset({"project", "domain", "workflow"}): Level.WORKFLOW,
    frozenset({"project", "domain", "workflow", "launch_plan"}): Level.LAUNCH_PLAN,
}


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope. An empty segment means "any". Raises InvalidScope."""

    domain: str = ""
    project: str = ""
    workflow: str = ""
    launch_plan: str = ""

    def __post_init__(self) -> None:
        together = f"{self.domain}{self.project}{self.workflow}{self.launch_plan}"
        # Nearly all scopes pass at once. A printable text without a space contains no other white space.
        if len(together) > MAX_SEGMENT_LENGTH or " " in together or not together.isprintable():
            for name, value in zip(SEGMENTS, self.path, strict=True):
                if value:
                    _check_segment(name, value)
        # The same as SHAPES, without building a set. A test compares the two.
        if (self.launch_plan and not self.workflow) or (self.workflow and not (self.project and self.domain)):
            raise _illegal_shape({name for name, value in self.segments.items() if value})

    @property
    def level(self) -> Level:
        # The same as SHAPES.
        if self.workflow:
            return Level.LAUNCH_PLAN if self.launch_plan else Level.WORKFLOW
        if self.project:
            return Level.PROJECT_DOMAIN if self.domain else Level.PROJECT
        return Level.DOMAIN if self.domain else Level.GLOBAL

    @property
    def path(self) -> tuple[str, str, str, str]:
        """The segments in the order of SEGMENTS."""
        return (self.domain, self.project, self.workflow, self.launch_plan)

    @property
    def segments(self) -> dict[str, str]:
        return dict(zip(SEGMENTS, self.path, strict=True))

    def covers(self, other: Scope) -> bool:
        """True if `other` inherits overrides of this scope, or is this scope.

        `ScopedQuerySet` is the same in SQL; a property test compares the two.
        """
        return (
            self.project in ("", other.project)
            and self.domain in ("", other.domain)
            and self.workflow in ("", other.workflow)
            and self.launch_plan in ("", other.launch_plan)
        )

    def ladder(self) -> tuple[Scope, ...]:
        """Return all scopes that cover this one, from the least specific to this one."""
        upper = _upper_rungs(self.domain, self.project)
        if not self.workflow:
            return upper
        if not self.launch_plan:
            return (*upper, self)
        return (*upper, _unchecked(self.domain, self.project, self.workflow), self)

    def at(self, level: Level) -> Scope:
        """Return the scope of the ladder at this level."""
        return self if level is self.level else next(rung for rung in self.ladder() if rung.level is level)

    def joined(self, other: Scope) -> Scope | None:
        """Return the least specific scope that both cover; None if their segments differ."""
        filled = {}
        for name in SEGMENTS:
            own, theirs = getattr(self, name), getattr(other, name)
            if own and theirs and own != theirs:
                return None
            filled[name] = own or theirs
        # Two valid shapes without different segments always combine to a valid shape.
        return _unchecked(**filled)

    def __str__(self) -> str:
        segments = [
            f"{name}={value}" for name, value in zip(_DISPLAY_ORDER, by_project(self), strict=True) if value
        ]
        return " ".join(segments) or "global"


def by_project(scope: Scope) -> tuple[str, str, str, str]:
    """Return the segments in the order of the indexes: project first, the most selective one."""
    return (scope.project, scope.domain, scope.workflow, scope.launch_plan)


@lru_cache(maxsize=8192)
def _upper_rungs(domain: str, project: str) -> tuple[Scope, ...]:
    """Return the ladder down to a project and domain, cached because many scopes share it."""
    rungs = [_unchecked()]
    if domain:
        rungs.append(_unchecked(domain))
    if project:
        rungs.append(_unchecked("", project))
    if domain and project:
        rungs.append(_unchecked(domain, project))
    return tuple(rungs)


def _unchecked(domain: str = "", project: str = "", workflow: str = "", launch_plan: str = "") -> Scope:
    """Return a scope of valid segments without checks, which would cost more than the rest of a ladder."""
    scope = object.__new__(Scope)
    object.__setattr__(scope, "domain", domain)
    object.__setattr__(scope, "project", project)
    object.__setattr__(scope, "workflow", workflow)
    object.__setattr__(scope, "launch_plan", launch_plan)
    return scope


def _check_segment(name: str, value: str) -> None:
    if len(value) > MAX_SEGMENT_LENGTH:
        raise _invalid(name, "too_long", f"{name} is longer than {MAX_SEGMENT_LENGTH} characters.")
    # Control characters, lone surrogates and the like: Postgres rejects some, and all are invisible.
    # isprintable also rejects some harmless ones, but is a fast and safe first check.
    if not value.isprintable() and any(
        unicodedata.category(character).startswith("C") for character in value
    ):
        raise _invalid(name, "unprintable", f"{name} contains a non-printable character.")
    if value != value.strip():
        raise _invalid(name, "spaces", f"{name} begins or ends with a space.")


def _illegal_shape(filled: set[str]) -> InvalidScope:
    required = {"workflow": {"project", "domain"}, "launch_plan": {"project", "domain", "workflow"}}
    deepest = "launch_plan" if "launch_plan" in filled else "workflow"
    missing = sorted(required[deepest] - filled)
    return _invalid(
        missing[0],
        "required",
        f"A {deepest} also requires: {', '.join(missing)}.",
        hint=f"Add {' and '.join(missing)}, or omit {deepest}.",
    )


def _invalid(segment: str, code: str, message: str, hint: str = "") -> InvalidScope:
    return InvalidScope(message, errors=[FieldError(f"?{segment}", code, message, hint)])
