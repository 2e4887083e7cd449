"""Layers that many scopes inherit are merged once for all of them. Pure.

The layers of all scopes form a tree, least specific first: scopes of one project share the way down to it,
and each adds only its own layers. What a layer does not touch is the very object of the way before, so that
those who show the results can share their work as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from overrides.resolution.leaves import Path, pointer
from overrides.resolution.merging import MergeRule
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import (
    Layer,
    Leaf,
    LosingValue,
    MergeTrace,
    RefusedLeaf,
    Resolution,
    admit,
    leaf_of,
    losing_values,
    removed_leaves,
    with_layer,
)


class MergedLayers:
    """Layers of one type, merged one after the other: a place in the tree.

    `layer` is the last one, None at the root. governing: the rails that cover the scopes of this tree.
    """

    __slots__ = (
        "_above",
        "_leaves",
        "_losing",
        "_resolution",
        "governing",
        "layer",
        "parent",
        "refused",
        "trace",
    )

    def __init__(
        self,
        parent: MergedLayers | None,
        layer: Layer | None,
        trace: MergeTrace,
        refused: tuple[RefusedLeaf, ...],
        governing: Sequence[GuardRail],
    ) -> None:
        self.parent, self.layer, self.trace = parent, layer, trace
        self.refused, self.governing = refused, governing
        # By the id of the layer, which its place keeps: so no id is used again.
        self._above: dict[int, MergedLayers] = {}
        self._losing: dict[Path, tuple[LosingValue, ...]] = {}
        self._leaves: dict[Path, Leaf] | None = None
        self._resolution: Resolution | None = None

    @classmethod
    def begin(cls, rule: MergeRule, governing: Sequence[GuardRail] = ()) -> MergedLayers:
        return cls(None, None, MergeTrace(rule), (), governing)

    def with_layer(self, layer: Layer) -> MergedLayers:
        """Return the place of one more layer, which comes after all others in the order of `in_order`."""
        if (known := self._above.get(id(layer))) is None:
            admitted, refused = admit(layer, self.governing, self.trace.rule)
            trace = self.trace if admitted is None else with_layer(self.trace, admitted)
            known = MergedLayers(self, layer, trace, self.refused + refused, self.governing)
            self._above[id(layer)] = known
        return known

    def all_layers(self) -> list[Layer]:
        """Return the layers as they were given, least specific first."""
        if self.parent is None or self.layer is None:
            return []
        return [*self.parent.all_layers(), self.layer]

    @property
    def resolution(self) -> Resolution:
        """The same as that of `resolve`."""
        if self._resolution is None:
            found = tuple(self.leaves.values())
            removed = removed_leaves(self.trace)
            self._resolution = Resolution(self.trace.attributes, found, removed, self.refused)
        return self._resolution

    @property
    def leaves(self) -> dict[Path, Leaf]:
        if self._leaves is None:
            self._leaves = {
                path: self._leaf(path, value, source) for path, (value, source) in self.trace.owned.items()
            }
        return self._leaves

    def _leaf(self, path: Path, value: Any, source: int) -> Leaf:
        """Return the leaf of `leaf_of`, with the parts that the layers below have already."""
        trace, parent = self.trace, self.parent
        # With `min` and `max`, a layer also changes leaves that it does not win.
        if parent is None or trace.rule.combine:
            return leaf_of(path, value, trace, source)
        location = pointer(trace.attributes, path)
        if source == len(parent.trace.layers):
            return Leaf(location, value, trace.layers[source], parent.losing_at(path), path)
        known = parent.leaves.get(path)
        if known is not None and known.value is value and known.pointer == location:
            return known
        return leaf_of(path, value, trace, source)

    def losing_at(self, path: Path) -> tuple[LosingValue, ...]:
        """Return what a more specific layer's value at the path replaces."""
        if (losing := self._losing.get(path)) is None:
            losing = self._losing[path] = losing_values(path, self.trace.layers)
        return losing
