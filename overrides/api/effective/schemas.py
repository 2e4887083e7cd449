"""Schemas of effective values."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rest_framework import serializers

from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.endpoints.events.schemas import MAX_WAIT_SECONDS
from controlplane.errors.field_error import FieldError
from controlplane.scopes import Scope
from overrides.api.as_of import ScopeAsOfQuery
from overrides.api.schemas import STRATEGIES, AnyJSONField, AttributesField
from overrides.effective.results import EffectiveAttributes, EffectiveType
from overrides.loading.layers import LayerOrigin
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Layer, Leaf, LosingValue, RefusedLeaf, ShadowReason
from overrides.resource_types import ResourceType
from overrides.resource_types.operators import pointer_of

REASONS = [(reason.value, reason.value) for reason in ShadowReason]
KINDS = [("override", "override"), ("platform_default", "platform_default")]
# A function that shows a source: in full, or as an index.
ShowSource = Callable[[Layer], Any]
_WHY_NOT = {
    ShadowReason.LESS_SPECIFIC: "a more specific scope sets it",
    ShadowReason.NOT_THE_LEAST: "the smallest value of all layers applies",
    ShadowReason.NOT_THE_GREATEST: "the largest value of all layers applies",
}


class ValueSource(serializers.Serializer[Any]):
    """Where a value is set: the scope, by whom and when."""

    kind = serializers.ChoiceField(choices=KINDS)
    scope = ScopeRead()
    override_id = serializers.UUIDField(allow_null=True, help_text="Null for a platform default.")
    version = serializers.IntegerField()
    revision = serializers.IntegerField()
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField(allow_null=True)
    change_message = serializers.CharField()
    declared_in = serializers.CharField(help_text="File and line, if overrides are loaded from files.")


class ShadowedValue(serializers.Serializer[Any]):
    value = AnyJSONField(help_text="The value set there; null removes an inherited value.")
    source = ValueSource()  # type: ignore[assignment]  # DRF takes it out of the class
    because = serializers.ChoiceField(choices=REASONS, help_text="Why it does not apply.")
    why_not = serializers.CharField(help_text="The reason as a sentence.")


class EffectiveLeaf(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="JSON Pointer into `attributes`.")
    value = AnyJSONField()
    source = ValueSource()  # type: ignore[assignment]  # DRF takes it out of the class
    why = serializers.CharField(help_text="Why this value applies, as a sentence.")
    shadowed = ShadowedValue(many=True, help_text="Values of other scopes, the most specific first.")


class RemovedValue(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="Where the value would have been.")
    source = ValueSource(help_text="The scope whose null removed the value.")  # type: ignore[assignment]  # DRF takes it out of the class
    shadowed = ShadowedValue(many=True)


class RefusedValue(serializers.Serializer[Any]):
    """A value that does not apply because it breaks a guard rail."""

    pointer = serializers.CharField()
    value = AnyJSONField()
    source = ValueSource()  # type: ignore[assignment]  # DRF takes it out of the class
    rail = serializers.CharField(help_text="Name of the guard rail.")
    why_not = serializers.CharField()


class ActiveRail(serializers.Serializer[Any]):
    name = serializers.CharField()
    scope = ScopeRead()
    pointer = serializers.CharField()
    reason = serializers.CharField()


class EffectiveWarning(serializers.Serializer[Any]):
    """A rule that the effective values break, such as a limit below its default."""

    pointer = serializers.CharField(help_text="JSON Pointer into `attributes`.")
    code = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField(help_text="How to fix it; may be empty.")


class EffectiveTypeRead(serializers.Serializer[Any]):
    resource_type = serializers.CharField()
    strategy = serializers.ChoiceField(choices=STRATEGIES)
    attributes = AttributesField()
    leaves = EffectiveLeaf(many=True)
    removed = RemovedValue(many=True)
    refused = RefusedValue(many=True)
    rails = ActiveRail(many=True, help_text="Guard rails in effect for this type at the scope.")
    warnings = EffectiveWarning(many=True, help_text="Validation errors of the effective attributes.")


class EffectiveRead(serializers.Serializer[Any]):
    scope = ScopeRead()
    items = EffectiveTypeRead(many=True, help_text="Only types that are set somewhere on the scope's ladder.")


class EffectiveQuery(ScopeAsOfQuery):
    resource_type = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Only this type."
    )
    strategy = serializers.ChoiceField(
        choices=[("native", "native"), ("flyte", "flyte")],
        required=False,
        default="native",
        help_text="`flyte`: resolve by FlyteAdmin's rules for executions.",
    )
    wait = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=MAX_WAIT_SECONDS,
        help_text="With `If-None-Match`: seconds to wait for a change (long poll).",
    )


def show_effective(effective: EffectiveAttributes) -> dict[str, Any]:
    shown = ShownTypes(_show_source)
    return {"scope": show_scope(effective.scope), "items": [*map(shown.of, effective.types)]}


class ShownTypes:
    """Shows effective types. What results share, by identity, is shown once; the results must be kept."""

    def __init__(self, show_source: ShowSource) -> None:
        self._show_source = show_source
        self._types: dict[int, dict[str, Any]] = {}
        self._leaves: dict[int, dict[str, Any]] = {}
        self._losing: dict[int, list[dict[str, Any]]] = {}

    def of(self, effective_type: EffectiveType) -> dict[str, Any]:
        if (shown := self._types.get(id(effective_type))) is None:
            shown = self._types[id(effective_type)] = self._type(effective_type)
        return shown

    def _type(self, effective_type: EffectiveType) -> dict[str, Any]:
        resolved = effective_type.resolved
        return {
            **show_kind(effective_type.resource_type),
            "attributes": resolved.attributes,
            "leaves": [self._leaf(leaf) for leaf in resolved.leaves],
            "removed": [
                {
                    "pointer": removed.pointer,
                    "source": self._show_source(removed.source),
                    "shadowed": self._shadowed(removed.shadowed),
                }
                for removed in resolved.removed
            ],
            "refused": [_show_refused(refused, self._show_source) for refused in resolved.refused],
            "rails": [_show_rail(rail) for rail in effective_type.rails],
            "warnings": [_show_warning(error) for error in effective_type.warnings],
        }

    def _leaf(self, leaf: Leaf) -> dict[str, Any]:
        if (shown := self._leaves.get(id(leaf))) is None:
            shown = self._leaves[id(leaf)] = {
                "pointer": leaf.pointer,
                "value": leaf.value,
                "source": self._show_source(leaf.source),
                "why": _why(leaf.source, leaf.shadowed),
                "shadowed": self._shadowed(leaf.shadowed),
            }
        return shown

    def _shadowed(self, losing: tuple[LosingValue, ...]) -> list[dict[str, Any]]:
        if (shown := self._losing.get(id(losing))) is None:
            shown = [_show_shadowed(losing_value, self._show_source) for losing_value in losing]
            self._losing[id(losing)] = shown
        return shown


def _show_warning(error: FieldError) -> dict[str, Any]:
    return {"pointer": error.pointer, "code": error.code, "message": error.message, "hint": error.hint}


def show_kind(resource_type: ResourceType) -> dict[str, Any]:
    return {"resource_type": resource_type.name, "strategy": resource_type.rule.strategy.value}


def _why(source: Layer, shadowed: tuple[LosingValue, ...]) -> str:
    if source.is_default:
        return "It is the platform default, and no override sets another value."
    scope = _text_of(source.scope)
    if any(value.because is not ShadowReason.LESS_SPECIFIC for value in shadowed):
        return f"{scope} sets it, and its value wins among all layers."
    return f"{scope} sets it, and no more specific scope does."


@lru_cache(maxsize=4096)
def _text_of(scope: Scope) -> str:
    """Return the scope's text, cached, because each value names one."""
    return str(scope)


def _show_shadowed(losing: LosingValue, show_source: ShowSource) -> dict[str, Any]:
    return {
        "value": losing.value,
        "source": show_source(losing.layer),
        "because": losing.because.value,
        "why_not": f"{_text_of(losing.layer.scope)} sets it, but {_WHY_NOT[losing.because]}.",
    }


def _show_refused(refused: RefusedLeaf, show_source: ShowSource) -> dict[str, Any]:
    rail, reason = refused.rail, f" {refused.rail.reason}" if refused.rail.reason else ""
    return {
        "pointer": refused.pointer,
        "value": refused.value,
        "source": show_source(refused.source),
        "rail": rail.name,
        "why_not": f"The guard rail {rail.name!r} at {rail.scope} refuses it: {refused.because}.{reason}",
    }


def _show_rail(rail: GuardRail) -> dict[str, Any]:
    return {
        "name": rail.name,
        "scope": show_scope(rail.scope),
        "pointer": pointer_of(rail.path),
        "reason": rail.reason,
    }


def _show_source(layer: Layer) -> dict[str, Any]:
    """Return the source of a layer, cached, because a layer has many leaves."""
    origin: LayerOrigin = layer.origin
    return source_content(layer.scope, origin, layer.is_default)


@lru_cache(maxsize=4096)
def source_content(scope: Scope, origin: LayerOrigin, is_default: bool) -> dict[str, Any]:
    return {
        "kind": "platform_default" if is_default else "override",
        "scope": show_scope(scope),
        "override_id": str(origin.override_id) if origin.override_id else None,
        "version": origin.version,
        "revision": origin.revision,
        "changed_by": origin.changed_by,
        "changed_at": origin.changed_at,
        "change_message": origin.change_message,
        "declared_in": origin.declared_in,
    }
