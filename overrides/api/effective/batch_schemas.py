"""Schemas of a batch of effective values: each source once, and its index at each value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Text
from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.scopes import Scope
from overrides.api.effective.schemas import (
    ActiveRail,
    EffectiveLeaf,
    EffectiveTypeRead,
    EffectiveWarning,
    RefusedValue,
    RemovedValue,
    ShadowedValue,
    ShownTypes,
    ValueSource,
    show_kind,
    source_content,
)
from overrides.api.effective.scope_sets import ScopeSetWrite
from overrides.effective.results import EffectiveAttributes, EffectiveValues
from overrides.loading.layers import LayerOrigin
from overrides.resolution.resolve import Layer

_LEFT_OUT = "Absent with `explain: false`."
_SOURCE = "Index of the source in `sources`."


class EffectiveBatchShadowed(ShadowedValue):
    source = serializers.IntegerField(help_text=_SOURCE)  # type: ignore[assignment]  # DRF takes it out of the class


class EffectiveBatchLeaf(EffectiveLeaf):
    source = serializers.IntegerField(help_text=_SOURCE)  # type: ignore[assignment]  # DRF takes it out of the class
    shadowed = EffectiveBatchShadowed(many=True, help_text="Values of other scopes, the most specific first.")


class EffectiveBatchRemoved(RemovedValue):
    source = serializers.IntegerField(help_text=_SOURCE)  # type: ignore[assignment]  # DRF takes it out of the class
    shadowed = EffectiveBatchShadowed(many=True)


class EffectiveBatchRefused(RefusedValue):
    """A value that does not apply because it breaks a guard rail."""

    source = serializers.IntegerField(help_text=_SOURCE)  # type: ignore[assignment]  # DRF takes it out of the class


class EffectiveBatchType(EffectiveTypeRead):
    leaves = EffectiveBatchLeaf(many=True, required=False, help_text=_LEFT_OUT)
    removed = EffectiveBatchRemoved(many=True, required=False, help_text=_LEFT_OUT)
    refused = EffectiveBatchRefused(many=True, required=False, help_text=_LEFT_OUT)
    rails = ActiveRail(many=True, required=False, help_text=_LEFT_OUT)
    warnings = EffectiveWarning(many=True, required=False, help_text=_LEFT_OUT)


class EffectiveBatchScope(serializers.Serializer[Any]):
    scope = ScopeRead()
    items = EffectiveBatchType(
        many=True, help_text="Only types that are set somewhere on the scope's ladder."
    )


class EffectiveBatchRead(serializers.Serializer[Any]):
    sources = ValueSource(many=True, help_text="Each source once; empty with `explain: false`.")
    items = EffectiveBatchScope(many=True, help_text="In the order of the requested scopes.")


class EffectiveBatchWrite(ScopeSetWrite):
    as_of = Text(required=False, default="", allow_blank=True, max_length=63)
    explain = serializers.BooleanField(
        required=False,
        default=True,
        help_text="`false`: only values, which is much smaller and faster.",
    )


def show_values(effective: EffectiveValues) -> dict[str, Any]:
    return {
        "scope": show_scope(effective.scope),
        "items": [
            {**show_kind(type_values.resource_type), "attributes": type_values.attributes}
            for type_values in effective.types
        ],
    }


def show_batch(answers: Sequence[EffectiveAttributes]) -> dict[str, Any]:
    """Return many results, with each source once and its index at each value."""
    indices: dict[tuple[Scope, LayerOrigin, bool], int] = {}

    # By identity first: hashing a source costs more than showing a value. The answers keep the layers.
    index_of_layer: dict[int, int] = {}

    def index_of(layer: Layer) -> int:
        if (index := index_of_layer.get(id(layer))) is None:
            source = (layer.scope, layer.origin, layer.is_default)
            index = index_of_layer[id(layer)] = indices.setdefault(source, len(indices))
        return index

    shown = ShownTypes(index_of)
    items = [{"scope": show_scope(each.scope), "items": [*map(shown.of, each.types)]} for each in answers]
    return {"sources": [source_content(*source) for source in indices], "items": items}
