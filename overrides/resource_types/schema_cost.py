"""Bound the work of validating one value with a schema, whatever the value is. Pure.

References make a short schema mean a long one: thirty definitions that each use the next one twice mean a
billion checks. `most_checks` counts how many subschemas apply to one value of a document; the work for a
whole document is at most this number for each of its values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from overrides.resource_types.subschemas import Subschema, subschemas, target_of

MAX_CHECKS = 1000
# As deep as documents may be (settings.MAX_JSON_DEPTH).
_MAX_DEPTH = 32
_REFERENCES = ("$ref", "$dynamicRef")
# These validate what stands beside them a second time, to learn what it has evaluated.
_TWICE = ("unevaluatedProperties", "unevaluatedItems")


class EndlessReference(Exception):
    """A reference leads back to itself without a member or item between."""


def most_checks(schema: Mapping[str, Any]) -> int:
    """Return how many subschemas apply to one value at most. Raises EndlessReference."""
    counting = _Counting(schema)
    return max(counting.checks(schema, depth) for depth in range(_MAX_DEPTH))


@dataclass(slots=True)
class _Counting:
    root: Mapping[str, Any]
    # By identity: schemas are the same objects throughout, and equal ones may be counted apart.
    known: dict[tuple[int, int], int] = field(default_factory=dict)
    under_way: set[tuple[int, int]] = field(default_factory=set)

    def checks(self, schema: Any, depth: int) -> int:
        """How many subschemas apply to one value so many steps below the schema's own."""
        key = (id(schema), depth)
        if key in self.under_way:
            raise EndlessReference
        if key not in self.known:
            self.under_way.add(key)
            # One more than the bound says enough; the numbers would grow beyond all measure.
            self.known[key] = min(self._count(schema, depth), MAX_CHECKS + 1)
            self.under_way.discard(key)
        return self.known[key]

    def _count(self, schema: Any, depth: int) -> int:
        if not isinstance(schema, Mapping):
            return depth == 0
        inner = list(subschemas(schema))
        beside = [one.schema for one in inner if not one.below] + list(self._referenced(schema))
        same = sum(self.checks(one, depth) for one in beside)
        if any(keyword in schema for keyword in _TWICE):
            same *= 2
        return same + (self._below(inner, depth - 1) if depth else 1)

    def _below(self, inner: list[Subschema], depth: int) -> int:
        """The most for any one member or item: its own schema, and those that may hold for all of them."""
        single: dict[tuple[str, str], int] = defaultdict(int)
        shared = 0
        for one in inner:
            if one.below:
                count = self.checks(one.schema, depth)
                if one.keyword in ("properties", "prefixItems"):
                    single[one.keyword, one.step] = count
                else:
                    shared += count
        return shared + max(single.values(), default=0)

    def _referenced(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for word in _REFERENCES:
            if isinstance(reference := schema.get(word), str):
                yield target_of(reference, self.root)
