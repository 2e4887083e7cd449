"""The shapes of overrides, effective values, resource types, projects and domains in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.api.endpoints import ReasonedQuery
from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeQuery, ScopeRead, show_scope
from controlplane.scopes import LEVEL_NAMES
from overrides.effective import Effective, EffectiveType
from overrides.merging import Strategy
from overrides.models import Domain, Override, Project
from overrides.resolution import Layer, Stated
from overrides.resource_types import ResourceType

STRATEGIES = [(one.value, one.value) for one in Strategy]


@extend_schema_field({"type": "object", "additionalProperties": True})
class AttributesField(serializers.Field[Any, Any, Any, Any]):
    """A JSON object; its resource type says what may be in it."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("It must be an object.", code="wrong_type")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({})
class AnyJSONField(serializers.Field[Any, Any, Any, Any]):
    """Any JSON value."""

    def to_representation(self, value: Any) -> Any:
        return value


class OverrideWrite(StrictSerializer):
    attributes = AttributesField()


class OverrideRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    resource_type = serializers.CharField()
    scope = ScopeRead()
    attributes = AttributesField()
    version = serializers.IntegerField(help_text='Rises with each change here; the ETag is `"v<version>"`.')
    revision = serializers.IntegerField(help_text="Rises with each change of any override.")
    created_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()
    change_message = serializers.CharField()


class OverridePage(serializers.Serializer[Any]):
    items = OverrideRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class SourceRead(serializers.Serializer[Any]):
    """Where a value is set: the scope, and who set it when."""

    scope = ScopeRead()
    override_id = serializers.UUIDField()
    version = serializers.IntegerField()
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField()


class StatedRead(serializers.Serializer[Any]):
    value = AnyJSONField(help_text="What is set there; null takes an inherited value away.")
    source = SourceRead()  # type: ignore[assignment]  # DRF takes it out of the class


class LeafRead(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="JSON Pointer into `attributes`.")
    value = AnyJSONField()
    source = SourceRead()  # type: ignore[assignment]  # DRF takes it out of the class
    shadowed = StatedRead(many=True, help_text="What less specific scopes set here, the nearest first.")


class RemovedRead(serializers.Serializer[Any]):
    pointer = serializers.CharField(help_text="Where the value would have been.")
    source = SourceRead(help_text="The scope whose null took it away.")  # type: ignore[assignment]  # DRF takes it out of the class
    shadowed = StatedRead(many=True)


class EffectiveTypeRead(serializers.Serializer[Any]):
    resource_type = serializers.CharField()
    strategy = serializers.ChoiceField(choices=STRATEGIES)
    attributes = AttributesField()
    leaves = LeafRead(many=True)
    removed = RemovedRead(many=True)


class EffectiveRead(serializers.Serializer[Any]):
    scope = ScopeRead()
    items = EffectiveTypeRead(many=True, help_text="Only types that are set somewhere on the ladder.")


class ResourceTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    number = serializers.IntegerField(allow_null=True, help_text="Flyte's MatchableResource.")
    title = serializers.CharField()
    meaning = serializers.CharField()
    document_key = serializers.CharField(help_text="Its name in the overrides document (RFC 3749).")
    strategy = serializers.ChoiceField(choices=STRATEGIES)
    keyed_lists = serializers.DictField(
        child=serializers.CharField(),
        help_text="Lists that merge item by item: pointer, and the key of an item.",
    )
    schema = AttributesField(help_text="JSON Schema 2020-12 of the attributes.")
    example = AttributesField()


class ResourceTypeList(serializers.Serializer[Any]):
    items = ResourceTypeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ProjectWrite(StrictSerializer):
    id = Text(max_length=63, help_text="Lower-case letters, digits, inner hyphens.")
    name = Text(max_length=64, required=False, default="", allow_blank=True)
    description = Text(max_length=300, required=False, default="", allow_blank=True, lines=True)


class ProjectRead(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    created_at = serializers.DateTimeField()


class ProjectPage(serializers.Serializer[Any]):
    items = ProjectRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class DomainWrite(StrictSerializer):
    id = Text(max_length=63, help_text="Lower-case letters, digits, inner hyphens.")
    name = Text(max_length=64, required=False, default="", allow_blank=True)


class DomainRead(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()


class DomainPage(serializers.Serializer[Any]):
    items = DomainRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class OverrideMutationQuery(ScopeQuery, ReasonedQuery):
    """A scope, and what every mutation takes."""


class OverrideListQuery(PageQuery):
    resource_type = serializers.CharField(required=False, help_text="Only this type.")
    level = serializers.ChoiceField(choices=LEVEL_NAMES, required=False, help_text="Only at this level.")
    project = serializers.CharField(required=False, help_text="Only of this project.")
    domain = serializers.CharField(required=False, help_text="Only of this domain.")
    workflow = serializers.CharField(required=False, help_text="Only of this workflow.")
    launch_plan = serializers.CharField(required=False, help_text="Only of this launch plan.")


class EffectiveQuery(ScopeQuery):
    resource_type = serializers.CharField(required=False, default="", help_text="Only this type.")


def show_override(override: Override) -> dict[str, Any]:
    return dict(OverrideRead(override).data) | {"scope": show_scope(override.scope)}


def show_effective(effective: Effective) -> dict[str, Any]:
    return {
        "scope": show_scope(effective.scope),
        "items": [_show_type(one) for one in effective.types],
    }


def show_resource_type(one: ResourceType) -> dict[str, Any]:
    return {
        "name": one.name,
        "number": one.number,
        "title": one.title,
        "meaning": one.meaning,
        "document_key": one.document_key,
        "strategy": one.rule.strategy.value,
        "keyed_lists": {"/" + "/".join(path): key for path, key in one.rule.keyed_lists.items()},
        "schema": one.schema,
        "example": one.example,
    }


def show_project(project: Project) -> dict[str, Any]:
    return dict(ProjectRead(project).data)


def show_domain(domain: Domain) -> dict[str, Any]:
    return dict(DomainRead(domain).data)


def _show_type(one: EffectiveType) -> dict[str, Any]:
    return {
        "resource_type": one.resource_type.name,
        "strategy": one.resource_type.rule.strategy.value,
        "attributes": one.resolved.attributes,
        "leaves": [
            {
                "pointer": leaf.pointer,
                "value": leaf.value,
                "source": _show_source(leaf.source),
                "shadowed": _show_stated(leaf.shadowed),
            }
            for leaf in one.resolved.leaves
        ],
        "removed": [
            {
                "pointer": gone.pointer,
                "source": _show_source(gone.source),
                "shadowed": _show_stated(gone.shadowed),
            }
            for gone in one.resolved.removed
        ],
    }


def _show_stated(stated: tuple[Stated, ...]) -> list[dict[str, Any]]:
    return [{"value": one.value, "source": _show_source(one.layer)} for one in stated]


def _show_source(layer: Layer) -> dict[str, Any]:
    override: Override = layer.origin
    return {
        "scope": show_scope(layer.scope),
        "override_id": str(override.id),
        "version": override.version,
        "changed_by": override.changed_by,
        "changed_at": override.changed_at,
    }
