"""Guard rails: what may be said about one field at a scope and below it. Pure.

A rail speaks for its scope and everything that the scope covers. Writes there that break it are refused.
Values that come from above, or were set before the rail, are not taken there: the resolver leaves them
out and says which rail did it. docs/adr/0011 has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.formats.quantities import amount
from controlplane.scopes import Level, Scope
from overrides.resolution.leaves import Element, Path, leaves, schema_path
from overrides.resolution.merging import (
    ANY_ITEM,
    Attributes,
    Combine,
    MergeRule,
    SchemaPath,
    canonical,
    matches,
)


@dataclass(frozen=True, slots=True)
class GuardRail:
    """Limits of one field. `path` is its schema path, in which `*` stands for any step.

    lock_below: scopes more specific than this level may not set the field at all. minimum, maximum: numbers
    or quantities. allowed: the only legal values; of a list, of its items. origin: the caller's.
    """

    name: str
    scope: Scope
    resource_type: str
    path: SchemaPath
    lock_below: Level | None = None
    minimum: Any = None
    maximum: Any = None
    allowed: tuple[Any, ...] | None = None
    reason: str = ""
    origin: Any = None


@dataclass(frozen=True, slots=True)
class Breach:
    """One statement that a rail does not let through."""

    path: Path
    value: Any
    rail: GuardRail
    because: str


def breaches(
    rails: Sequence[GuardRail], level: Level | None, attributes: Attributes, rule: MergeRule
) -> list[Breach]:
    """Every leaf of a layer that breaks a rail, once each, the first rail by name.

    level: of the layer's scope; None for platform defaults, which no lock stops.
    """
    found: dict[Path, Breach] = {}
    for rail in sorted(rails, key=lambda rail: rail.name):
        for path, value in leaves(attributes, rule):
            if because := _because(rail, level, path, value, rule):
                found.setdefault(path, Breach(path, value, rail, because))
    return list(found.values())


def _because(rail: GuardRail, level: Level | None, path: Path, value: Any, rule: MergeRule) -> str:
    where = schema_path(path)
    locked = rail.lock_below is not None and level is not None and level > rail.lock_below
    if locked and _touches(_guarded(rail.path, where, rule), where, value, rule):
        return f"it is locked below the level {rail.lock_below.name.lower()}"  # type: ignore[union-attr]
    for stated in _stated(rail, path, where, value):
        if because := _out_of_bounds(rail, stated):
            return because
    return ""


def _guarded(path: SchemaPath, where: SchemaPath, rule: MergeRule) -> SchemaPath:
    """The field, or the part around it that is taken whole: then any leaf in that part touches the field.

    `*` in the rail's path may stand for such a part, so the leaf's own steps decide.
    """
    common = min(len(path), len(where))
    return path[: rule.unit_of((*where[:common], *path[common:]))]


def _touches(guarded: SchemaPath, where: SchemaPath, value: Any, rule: MergeRule) -> bool:
    """True if a leaf sets the guarded part, or takes it away with something above it."""
    if len(where) >= len(guarded):
        return matches(guarded, where[: len(guarded)])
    return matches(guarded[: len(where)], where) and not _harmless(where, value, rule)


def _harmless(where: SchemaPath, value: Any, rule: MergeRule) -> bool:
    """An empty object, or an empty list that is added to, leaves what is inherited as it is."""
    if value == [] and isinstance(value, list):
        return where in rule.keyed_lists or rule.combine_at(where) is Combine.APPEND_UNIQUE
    return isinstance(value, Mapping) and not value


def _stated(rail: GuardRail, path: Path, where: SchemaPath, value: Any) -> Iterator[Any]:
    """What the leaf says about the rail's field; a null says nothing that could be out of bounds."""
    if path and isinstance(path[-1], Element) and matches(rail.path, where[:-1]):
        yield value
    elif len(where) <= len(rail.path) and matches(rail.path[: len(where)], where):
        for one in _below(value, rail.path[len(where) :]):
            listed = isinstance(one, list) and rail.allowed is not None
            yield from one if listed else [one]


def _below(value: Any, rest: SchemaPath) -> Iterator[Any]:
    if value is None:
        return
    if not rest:
        yield value
    elif isinstance(value, Mapping):
        names = value if rest[0] == ANY_ITEM else [rest[0]]
        for name in names:
            yield from _below(value.get(name), rest[1:])
    elif isinstance(value, list) and rest[0] == ANY_ITEM:
        for item in value:
            yield from _below(item, rest[1:])


def _out_of_bounds(rail: GuardRail, value: Any) -> str:
    if rail.allowed is not None and canonical(value) not in map(canonical, rail.allowed):
        return f"only these are allowed: {', '.join(map(_shown, rail.allowed))}"
    if rail.minimum is None and rail.maximum is None:
        return ""
    stated = amount(value)
    if stated is None:
        return f"{_shown(value)} is no number or quantity that could be compared"
    if (least := amount(rail.minimum)) is not None and stated < least:
        return f"{_shown(rail.minimum)} is the least allowed"
    if (most := amount(rail.maximum)) is not None and stated > most:
        return f"{_shown(rail.maximum)} is the most allowed"
    return ""


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)[:80]
