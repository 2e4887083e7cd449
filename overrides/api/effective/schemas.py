"""The shapes of effective values in the API."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rest_framework import serializers

from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.errors.field_error import FieldError
from controlplane.scopes import Scope
from overrides.api.as_of import ScopeAsOfQuery
from overrides.api.schemas import STRATEGIES, AnyJSONField, AttributesField
from overrides.effective.results import Effective, EffectiveType
from overrides.loading.layers import Origin
from overrides.resolution.rails import GuardRail
from overrides.resolution.resolve import Because, Layer, Refused, Stated
from overrides.resource_types import ResourceType
from overrides.resource_types.operators import pointer_of

REASONS = [(one.value, one.value) for one in Because]
KINDS = [("override", "override"), ("platform_default", "platform_default")]
# A source as an answer names it: whole, or by its index.
ShowSource = Callable[[Layer], Any]
_WHY_NOT = {
    Because.LESS_SPECIFIC: "a more specific scope sets it",
    Because.NOT_THE_LEAST: "the least of all layers applies here",
    Because.NOT_THE_GREATEST: "the greatest of all layers applies here",
}


class ValueSource(serializers.Serializer[Any]):
    """Where a value is set: the scope, and who set it when."""

    kind = serializers.ChoiceField(choices=KINDS)
    scope = ScopeRead()
    override_id = serializers.UUIDField(allow_null=True, help_text="None for a platform default.")
    version = serializers.IntegerField()
    revision = serializers.IntegerField()
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField(allow_null=True)
    change_message = serializers.CharField()
    declared_in = serializers.CharField(help_text="File and line, where overrides come from files.")


class ShadowedValue(serializers.Serializer[Any]):
    value = AnyJSONField(help_text="What is set there; null takes an inherited value away.")
    source = ValueSource()  # type: ignore[assignment]  # DRF takes it out of the class
    because = serializers.ChoiceField(choices=REASONS, help_text="Why it does not apply.")
    why_not = serializers.CharField(help_text="The same in words.")


class EffectiveLeaf(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="JSON Pointer into `attributes`.")
    value = AnyJSONField()
    source = ValueSource()  # type: ignore[assignment]  # DRF takes it out of the class
    why = serializers.CharField(help_text="Why this value applies, in words.")
    shadowed = ShadowedValue(many=True, help_text="What other scopes set here, the most specific first.")


class RemovedValue(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="Where the value would have been.")
    source = ValueSource(help_text="The scope whose null took it away.")  # type: ignore[assignment]  # DRF takes it out of the class
    shadowed = ShadowedValue(many=True)


class RefusedValue(serializers.Serializer[Any]):
    """A value that is set, and that a guard rail keeps from applying here."""

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
    """A rule that the combined values break, such as a limit below its default."""

    pointer = serializers.CharField(help_text="JSON Pointer into `attributes`.")
    code = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField(help_text="What to do about it; may be empty.")


class EffectiveTypeRead(serializers.Serializer[Any]):
    resource_type = serializers.CharField()
    strategy = serializers.ChoiceField(choices=STRATEGIES)
    attributes = AttributesField()
    leaves = EffectiveLeaf(many=True)
    removed = RemovedValue(many=True)
    refused = RefusedValue(many=True)
    rails = ActiveRail(many=True, help_text="Guard rails that govern this type here.")
    warnings = EffectiveWarning(many=True, help_text="What is wrong with the combined attributes.")


class EffectiveRead(serializers.Serializer[Any]):
    scope = ScopeRead()
    items = EffectiveTypeRead(many=True, help_text="Only types that are set somewhere on the ladder.")


class EffectiveQuery(ScopeAsOfQuery):
    resource_type = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Only this type."
    )
    strategy = serializers.ChoiceField(
        choices=[("native", "native"), ("flyte", "flyte")],
        required=False,
        default="native",
        help_text="`flyte`: what FlyteAdmin would apply at an execution.",
    )


def show_effective(effective: Effective) -> dict[str, Any]:
    return show_with(effective, _show_source)


def show_with(effective: Effective, show_source: ShowSource) -> dict[str, Any]:
    return {
        "scope": show_scope(effective.scope),
        "items": [_show_type(one, show_source) for one in effective.types],
    }


def _show_type(one: EffectiveType, show_source: ShowSource) -> dict[str, Any]:
    resolved = one.resolved
    return {
        **show_kind(one.resource_type),
        "attributes": resolved.attributes,
        "leaves": [
            {
                "pointer": leaf.pointer,
                "value": leaf.value,
                "source": show_source(leaf.source),
                "why": _why(leaf.source, leaf.shadowed),
                "shadowed": [_show_stated(stated, show_source) for stated in leaf.shadowed],
            }
            for leaf in resolved.leaves
        ],
        "removed": [
            {
                "pointer": gone.pointer,
                "source": show_source(gone.source),
                "shadowed": [_show_stated(stated, show_source) for stated in gone.shadowed],
            }
            for gone in resolved.removed
        ],
        "refused": [_show_refused(refused, show_source) for refused in resolved.refused],
        "rails": [_show_rail(rail) for rail in one.rails],
        "warnings": [_show_warning(error) for error in one.warnings],
    }


def _show_warning(error: FieldError) -> dict[str, Any]:
    return {"pointer": error.pointer, "code": error.code, "message": error.message, "hint": error.hint}


def show_kind(one: ResourceType) -> dict[str, Any]:
    return {"resource_type": one.name, "strategy": one.rule.strategy.value}


def _why(source: Layer, shadowed: tuple[Stated, ...]) -> str:
    if source.is_default:
        return "It is the platform's default, and nothing that is set says otherwise."
    place = str(source.scope)
    if any(one.because is not Because.LESS_SPECIFIC for one in shadowed):
        return f"{place} sets it, and of all layers its value wins."
    return f"{place} sets it, and nothing more specific does."


def _show_stated(one: Stated, show_source: ShowSource) -> dict[str, Any]:
    return {
        "value": one.value,
        "source": show_source(one.layer),
        "because": one.because.value,
        "why_not": f"{one.layer.scope} sets it, but {_WHY_NOT[one.because]}.",
    }


def _show_refused(one: Refused, show_source: ShowSource) -> dict[str, Any]:
    reason = f" {one.rail.reason}" if one.rail.reason else ""
    return {
        "pointer": one.pointer,
        "value": one.value,
        "source": show_source(one.source),
        "rail": one.rail.name,
        "why_not": f"The guard rail {one.rail.name!r} at {one.rail.scope} refuses it: {one.because}.{reason}",
    }


def _show_rail(rail: GuardRail) -> dict[str, Any]:
    return {
        "name": rail.name,
        "scope": show_scope(rail.scope),
        "pointer": pointer_of(rail.path),
        "reason": rail.reason,
    }


def _show_source(layer: Layer) -> dict[str, Any]:
    """The same object for all leaves of a layer: a layer has many, and making it is not free."""
    origin: Origin = layer.origin
    return source_content(layer.scope, origin, layer.is_default)


@lru_cache(maxsize=4096)
def source_content(scope: Scope, origin: Origin, is_default: bool) -> dict[str, Any]:
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
