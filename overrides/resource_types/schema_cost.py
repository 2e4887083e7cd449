"""Bound the work of validating one value with a schema, whatever the value is. Pure.

With references, a short schema can be expensive: thirty definitions that each use the next one twice mean a
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
# The maximum depth of documents (settings.MAX_JSON_DEPTH).
_MAX_DEPTH = 32
_REFERENCES = ("$ref", "$dynamicRef")
# These evaluate their sibling keywords a second time, to learn which members and items those cover.
_TWICE = ("unevaluatedProperties", "unevaluatedItems")


class EndlessReference(Exception):
    """A reference leads back to itself without a member or item in between."""


def most_checks(schema: Mapping[str, Any]) -> int:
    """Return the maximum number of subschemas that apply to one value. Raises EndlessReference."""
    counter = _CheckCounter(schema)
    return max(counter.checks(schema, depth) for depth in range(_MAX_DEPTH))


@dataclass(slots=True)
class _CheckCounter:
    root: Mapping[str, Any]
    # By identity: schemas stay the same objects, and equal ones can be counted separately.
    counts: dict[tuple[int, int], int] = field(default_factory=dict)
    active: set[tuple[int, int]] = field(default_factory=set)

    def checks(self, schema: Any, depth: int) -> int:
        """Return how many subschemas apply to one value `depth` steps below the schema's own."""
        key = (id(schema), depth)
        if key in self.active:
            raise EndlessReference
        if key not in self.counts:
            self.active.add(key)
            # Stop just above the bound: the exact numbers can grow exponentially.
            self.counts[key] = min(self._count(schema, depth), MAX_CHECKS + 1)
            self.active.discard(key)
        return self.counts[key]

    def _count(self, schema: Any, depth: int) -> int:
        if not isinstance(schema, Mapping):
            return depth == 0
        inner = list(subschemas(schema))
        siblings = [subschema.schema for subschema in inner if not subschema.below] + list(
            self._referenced(schema)
        )
        count = sum(self.checks(subschema, depth) for subschema in siblings)
        if any(keyword in schema for keyword in _TWICE):
            count *= 2
        return count + (self._below(inner, depth - 1) if depth else 1)

    def _below(self, inner: list[Subschema], depth: int) -> int:
        """Return the maximum for any member or item: its own schema, and those that can apply to all."""
        single: dict[tuple[str, str], int] = defaultdict(int)
        shared = 0
        for subschema in inner:
            if subschema.below:
                count = self.checks(subschema.schema, depth)
                if subschema.keyword in ("properties", "prefixItems"):
                    single[subschema.keyword, subschema.step] = count
                else:
                    shared += count
        return shared + max(single.values(), default=0)

    def _referenced(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for keyword in _REFERENCES:
            if isinstance(reference := schema.get(keyword), str):
                yield target_of(reference, self.root)
