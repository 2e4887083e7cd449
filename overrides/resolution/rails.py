"""Guard rails: limits of one field at a scope and below it. Pure.

A rail governs its scope and everything that the scope covers. Writes there that break it are refused.
Inherited values, and values set before the rail, do not apply there: the resolver leaves them out and
reports the rail. For the reasons see docs/adr/0011.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.formats.quantities import amount
from controlplane.scopes import Level, Scope
from overrides.resolution.leaves import ElementStep, Path, leaves, schema_path
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
    """Limits of one field. `path` is its schema path, in which `*` matches any step.

    lock_below: scopes more specific than this level may not set the field at all. minimum, maximum: numbers
    or quantities. allowed: the only allowed values; for a list, of its items. origin: opaque to this package.
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
    """A value that breaks a rail."""

    path: Path
    value: Any
    rail: GuardRail
    reason: str


def breaches(
    rails: Sequence[GuardRail], level: Level | None, attributes: Attributes, rule: MergeRule
) -> list[Breach]:
    """Return every leaf of a layer that breaks a rail, once each, with the first rail by name.

    level: of the layer's scope; None for platform defaults, to which locks do not apply.
    """
    first_breaches: dict[Path, Breach] = {}
    for rail in sorted(rails, key=lambda rail: rail.name):
        for path, value in leaves(attributes, rule):
            if reason := _breach_reason(rail, level, path, value, rule):
                first_breaches.setdefault(path, Breach(path, value, rail, reason))
    return list(first_breaches.values())


def _breach_reason(rail: GuardRail, level: Level | None, path: Path, value: Any, rule: MergeRule) -> str:
    location = schema_path(path)
    locked = rail.lock_below is not None and level is not None and level > rail.lock_below
    if locked and _touches(_guarded(rail.path, location, rule), location, value, rule):
        return f"it is locked below the level {rail.lock_below.name.lower()}"  # type: ignore[union-attr]
    for stated in _stated_values(rail, path, location, value):
        if reason := _out_of_bounds(rail, stated):
            return reason
    return ""


def _guarded(path: SchemaPath, location: SchemaPath, rule: MergeRule) -> SchemaPath:
    """Return the field, or the part around it that applies as a whole: any leaf in it then touches the field.

    `*` in the rail's path can match such a part, so the leaf's own steps decide.
    """
    common = min(len(path), len(location))
    return path[: rule.unit_of((*location[:common], *path[common:]))]


def _touches(guarded: SchemaPath, location: SchemaPath, value: Any, rule: MergeRule) -> bool:
    """Return whether a leaf sets the guarded part, or removes it with something above it."""
    if len(location) >= len(guarded):
        return matches(guarded, location[: len(guarded)])
    return matches(guarded[: len(location)], location) and not _harmless(location, value, rule)


def _harmless(location: SchemaPath, value: Any, rule: MergeRule) -> bool:
    """Return whether the value changes nothing: an empty object, or an empty list that appends."""
    if value == [] and isinstance(value, list):
        return location in rule.keyed_lists or rule.combine_at(location) is Combine.APPEND_UNIQUE
    return isinstance(value, Mapping) and not value


def _stated_values(rail: GuardRail, path: Path, location: SchemaPath, value: Any) -> Iterator[Any]:
    """Yield the leaf's values of the rail's field; a null cannot be out of bounds."""
    if path and isinstance(path[-1], ElementStep) and matches(rail.path, location[:-1]):
        yield value
    elif len(location) <= len(rail.path) and matches(rail.path[: len(location)], location):
        for value_below in _below(value, rail.path[len(location) :]):
            listed = isinstance(value_below, list) and rail.allowed is not None
            yield from value_below if listed else [value_below]


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
        return f"allowed values are {', '.join(map(_as_text, rail.allowed))}"
    if rail.minimum is None and rail.maximum is None:
        return ""
    stated = amount(value)
    if stated is None:
        return f"{_as_text(value)} is not a number or a quantity"
    if (minimum := amount(rail.minimum)) is not None and stated < minimum:
        return f"the minimum is {_as_text(rail.minimum)}"
    if (maximum := amount(rail.maximum)) is not None and stated > maximum:
        return f"the maximum is {_as_text(rail.maximum)}"
    return ""


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)[:80]
