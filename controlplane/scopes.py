"""Scopes: where something applies, from the whole installation down to one launch plan. Pure.

Six shapes are legal. DOMAIN and PROJECT are siblings below GLOBAL, so a scope is no plain path:
it covers another when each segment that it names is equal there.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from controlplane.errors import FieldError, InvalidScope

SEGMENTS = ("domain", "project", "workflow", "launch_plan")
# People name the project before the domain.
_AS_SAID = ("project", "domain", "workflow", "launch_plan")
# The width of Flyte's columns (flyte-attributes.md 3.1).
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

# Which segments are filled at each level: the whole of what makes a shape legal.
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
    """A place in the ladder. An empty segment means "any". Raises InvalidScope."""

    domain: str = ""
    project: str = ""
    workflow: str = ""
    launch_plan: str = ""

    def __post_init__(self) -> None:
        for name, value in zip(SEGMENTS, self.path, strict=True):
            if value:
                _check_segment(name, value)
        # As SHAPES has it, without building a set: a test compares the two.
        if (self.launch_plan and not self.workflow) or (self.workflow and not (self.project and self.domain)):
            raise _illegal_shape({name for name, value in self.segments.items() if value})

    @property
    def level(self) -> Level:
        # As SHAPES has it, again.
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
        """True if what is set here is inherited by (or is at) `other`.

        `ScopedQuerySet` says the same in SQL; a property test compares the two.
        """
        return (
            self.project in ("", other.project)
            and self.domain in ("", other.domain)
            and self.workflow in ("", other.workflow)
            and self.launch_plan in ("", other.launch_plan)
        )

    def ladder(self) -> tuple[Scope, ...]:
        """Every scope that covers this one, least specific first, this one last."""
        upper = _upper_rungs(self.domain, self.project)
        if not self.workflow:
            return upper
        if not self.launch_plan:
            return (*upper, self)
        return (*upper, _trusted(self.domain, self.project, self.workflow), self)

    def at(self, level: Level) -> Scope:
        """The rung of the ladder at this level."""
        return self if level is self.level else next(rung for rung in self.ladder() if rung.level is level)

    def joined(self, other: Scope) -> Scope | None:
        """The least specific scope that both cover; None where they name different things."""
        filled = {}
        for name in SEGMENTS:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine and theirs and mine != theirs:
                return None
            filled[name] = mine or theirs
        # Two legal shapes that do not contradict each other always make a third.
        return _trusted(**filled)

    def __str__(self) -> str:
        said = [f"{name}={value}" for name, value in zip(_AS_SAID, by_project(self), strict=True) if value]
        return " ".join(said) or "global"


def by_project(scope: Scope) -> tuple[str, str, str, str]:
    """The order of our indexes: project first, which tells rows apart best."""
    return (scope.project, scope.domain, scope.workflow, scope.launch_plan)


@lru_cache(maxsize=8192)
def _upper_rungs(domain: str, project: str) -> tuple[Scope, ...]:
    """The rungs down to a project in a domain: ten thousand scopes have a few of them in common."""
    rungs = [_trusted()]
    if domain:
        rungs.append(_trusted(domain))
    if project:
        rungs.append(_trusted("", project))
    if domain and project:
        rungs.append(_trusted(domain, project))
    return tuple(rungs)


def _trusted(domain: str = "", project: str = "", workflow: str = "", launch_plan: str = "") -> Scope:
    """A scope of segments that were checked before: checking costs more than all the rest of a ladder."""
    scope = object.__new__(Scope)
    object.__setattr__(scope, "domain", domain)
    object.__setattr__(scope, "project", project)
    object.__setattr__(scope, "workflow", workflow)
    object.__setattr__(scope, "launch_plan", launch_plan)
    return scope


def _check_segment(name: str, value: str) -> None:
    if len(value) > MAX_SEGMENT_LENGTH:
        raise _invalid(name, "too_long", f"{name} is longer than {MAX_SEGMENT_LENGTH} characters.")
    # Control characters, lone surrogates and the like: Postgres refuses some, people see none.
    # isprintable says no to some harmless ones too, but its yes is quick and sure.
    if not value.isprintable() and any(unicodedata.category(one).startswith("C") for one in value):
        raise _invalid(name, "unprintable", f"{name} has a character that cannot be printed.")
    if value != value.strip():
        raise _invalid(name, "spaces", f"{name} begins or ends with a space.")


def _illegal_shape(filled: set[str]) -> InvalidScope:
    wanted = {"workflow": {"project", "domain"}, "launch_plan": {"project", "domain", "workflow"}}
    deepest = "launch_plan" if "launch_plan" in filled else "workflow"
    missing = sorted(wanted[deepest] - filled)
    return _invalid(
        missing[0],
        "required",
        f"A {deepest} also needs: {', '.join(missing)}.",
        hint="Name them, or leave it out.",
    )


def _invalid(segment: str, code: str, message: str, hint: str = "") -> InvalidScope:
    return InvalidScope(message, errors=[FieldError(f"?{segment}", code, message, hint)])
