"""Merge rules: how a more specific layer changes what it inherits. Pure.

`merge` is RFC 7396: objects merge member by member, null removes, anything else replaces. Lists replace
whole (merging by position would make one scope's edit depend on the length of another's list), except
lists of named things: those merge item by item, matched by a key, and an item with `"$remove": true`
removes the inherited one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Attributes = Mapping[str, Any]
REMOVE = "$remove"
# Stands in a schema path for "any item of this list".
ANY_ITEM = "*"


class Strategy(StrEnum):
    MERGE = "merge"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How the layers of one resource type combine.

    keyed_lists: path of each list of named things, mapped to the member that names an item.
    """

    strategy: Strategy
    keyed_lists: Mapping[tuple[str, ...], str] = field(default_factory=dict)


_PLAIN = MergeRule(Strategy.MERGE)


def merge(inherited: Attributes, layer: Attributes, rule: MergeRule) -> dict[str, Any]:
    """Return what applies below the layer. Changes neither argument; the result has no nulls."""
    below = {} if rule.strategy is Strategy.REPLACE else inherited
    return _merge_objects(below, layer, (), rule)


def merge_patch(document: Attributes, patch: Attributes) -> dict[str, Any]:
    """Apply an RFC 7396 patch to one stored document, whatever its type: lists replace whole."""
    return _merge_objects(document, patch, (), _PLAIN)


def key_of(item: Any, key: str) -> str | None:
    """The name of an item in a list of named things; None if it has none."""
    name = item.get(key) if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else None


def _merge_objects(
    inherited: Attributes, layer: Attributes, path: tuple[str, ...], rule: MergeRule
) -> dict[str, Any]:
    merged = dict(inherited)
    for name, value in layer.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge_values(merged.get(name), value, (*path, name), rule)
    return merged


def _merge_values(inherited: Any, value: Any, path: tuple[str, ...], rule: MergeRule) -> Any:
    if isinstance(value, Mapping):
        return _merge_objects(inherited if isinstance(inherited, Mapping) else {}, value, path, rule)
    if isinstance(value, list) and path in rule.keyed_lists:
        below = inherited if isinstance(inherited, list) else []
        return _merge_named(below, value, path, rule)
    return value


def _merge_named(
    inherited: Sequence[Any], items: Sequence[Any], path: tuple[str, ...], rule: MergeRule
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
