"""Merge rules: how a more specific layer changes what it inherits. Pure.

`merge` is RFC 7396: objects merge member by member, null removes, anything else replaces. Lists replace
as a whole (merging by position would make one scope's edit depend on the length of another's list), except
keyed lists: those merge item by item, matched by a key, and an item with `"$remove": true` removes the
inherited item. A rule can override this for single paths: see `Combine`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from controlplane.formats.quantities import amount

Attributes = Mapping[str, Any]
SchemaPath = tuple[str, ...]
REMOVE = "$remove"
# In a schema path: any item of this list, or any member of this object.
ANY_ITEM = "*"


class Strategy(StrEnum):
    MERGE = "merge"
    REPLACE = "replace"


class Combine(StrEnum):
    """How the value at one path combines with the inherited value, where the general rule does not apply."""

    REPLACE = "replace"  # an object that replaces as a whole
    APPEND_UNIQUE = "append_unique"  # a list: inherited items first, without duplicates
    MIN = "min"  # numbers and quantities: the smallest of all layers
    MAX = "max"


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How the layers of one resource type combine.

    keyed_lists: the path of each list with named items, mapped to the member that names an item.
    combine: paths with their own rule; `*` in a path matches any step.
    """

    strategy: Strategy
    keyed_lists: Mapping[SchemaPath, str] = field(default_factory=dict)
    combine: Mapping[SchemaPath, Combine] = field(default_factory=dict)

    def combine_at(self, path: SchemaPath) -> Combine | None:
        if not self.combine:
            return None
        return next((combine for pattern, combine in self.combine.items() if matches(pattern, path)), None)

    def unit_of(self, path: SchemaPath) -> int:
        """Return the number of steps to the smallest part that applies or is refused as a whole."""
        if self.strategy is Strategy.REPLACE:
            return 0
        for length in range(len(path)) if self.combine else ():
            if self.combine_at(path[:length]) is Combine.REPLACE:
                return length
        return len(path)


_PLAIN = MergeRule(Strategy.MERGE)


def matches(pattern: SchemaPath, path: SchemaPath) -> bool:
    return len(pattern) == len(path) and all(
        want in (ANY_ITEM, step) for want, step in zip(pattern, path, strict=True)
    )


def merge(inherited: Attributes, layer: Attributes, rule: MergeRule) -> dict[str, Any]:
    """Return the attributes after the layer. Changes neither argument; the result has no nulls."""
    below = {} if rule.strategy is Strategy.REPLACE else inherited
    return _merge_objects(below, layer, (), rule)


def merge_patch(document: Attributes, patch: Attributes) -> dict[str, Any]:
    """Apply an RFC 7396 patch to one stored document of any type: lists replace as a whole."""
    return _merge_objects(document, patch, (), _PLAIN)


def key_of(item: Any, key: str) -> str | None:
    """Return the name of an item in a keyed list, or None if it has none."""
    name = item.get(key) if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else None


def canonical(value: Any) -> str:
    """Return one text for each JSON value; Python considers 1, 1.0 and true equal."""
    try:
        return msgspec.json.encode(value, order="deterministic").decode()
    except (OverflowError, TypeError):  # integers above 64 bits, mappings that are not a dict
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _merge_objects(
    inherited: Attributes, layer: Attributes, path: SchemaPath, rule: MergeRule
) -> dict[str, Any]:
    merged = dict(inherited)
    for name, value in layer.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_values(merged.get(name), value, (*path, name), rule)
    return merged


def _merge_values(inherited: Any, value: Any, path: SchemaPath, rule: MergeRule) -> Any:
    combine = rule.combine_at(path)
    if combine in (Combine.MIN, Combine.MAX):
        return _extreme(inherited, value, combine)
    if isinstance(value, dict):
        below = inherited if isinstance(inherited, dict) and combine is not Combine.REPLACE else {}
        return _merge_objects(below, value, path, rule)
    if isinstance(value, list):
        return _merge_lists(inherited if isinstance(inherited, list) else [], value, path, rule)
    return value


def _merge_lists(
    inherited: Sequence[Any], items: Sequence[Any], path: SchemaPath, rule: MergeRule
) -> Sequence[Any]:
    if path in rule.keyed_lists:
        return _merge_named(inherited, items, path, rule)
    if rule.combine_at(path) is Combine.APPEND_UNIQUE:
        return list({canonical(item): item for item in (*inherited, *items)}.values())
    return items


def _merge_named(
    inherited: Sequence[Any], items: Sequence[Any], path: SchemaPath, rule: MergeRule
) -> list[Any]:
    key = rule.keyed_lists[path]
    merged = {key_of(item, key): item for item in inherited}
    for item in items:
        name = key_of(item, key)
        if item.get(REMOVE) is True:
            merged.pop(name, None)
        else:
            merged[name] = _merge_objects(merged.get(name, {}), item, (*path, ANY_ITEM), rule)
    return list(merged.values())


def _extreme(inherited: Any, value: Any, combine: Combine | None) -> Any:
    """Return the smaller or larger value, the inherited one on a tie; incomparable values lose."""
    below, own = amount(inherited), amount(value)
    if below is None or own is None:
        return value if below is None else inherited
    better = own < below if combine is Combine.MIN else own > below
    return value if better else inherited
