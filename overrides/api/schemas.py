"""Schemas of overrides and resource types, and of common query parameters."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from controlplane.api.endpoints import ReasonedQuery
from controlplane.api.fields import StrictSerializer
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeQuery, ScopeRead, show_scope
from controlplane.api.sorting import SortField
from controlplane.scopes import LEVEL_NAMES
from overrides.api.as_of import AsOfQuery
from overrides.editing.confirmation import PATTERN
from overrides.models import Override, OverrideVersion
from overrides.querysets import SORT_KEYS
from overrides.resolution.merging import Strategy
from overrides.resource_types import ResourceType
from overrides.resource_types.operators import pointer_of
from overrides.value_terms import ValueTerm, parse_term

_SHARED = (
    "resource_type",
    "attributes",
    "version",
    "revision",
    "changed_at",
    "changed_by",
    "change_message",
    "owners",
    "declared_in",
)
STRATEGIES = [(strategy.value, strategy.value) for strategy in Strategy]


@extend_schema_field({"type": "object", "additionalProperties": True})
class AttributesField(serializers.Field[Any, Any, Any, Any]):
    """A JSON object whose members depend on its resource type."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("Must be an object.", code="wrong_type")
        return data

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({})
class AnyJSONField(serializers.Field[Any, Any, Any, Any]):
    """Any JSON value."""

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class OverrideWrite(StrictSerializer):
    attributes = AttributesField()


class OverridePreviewWrite(StrictSerializer):
    attributes = AttributesField(required=False, help_text="If absent, the override is deleted.")


PATCH_OPERATIONS = [(name, name) for name in ("add", "remove", "replace", "move", "copy", "test")]
_Operation = type(
    "_Operation",
    (serializers.Serializer,),
    {"from": serializers.CharField(required=False, help_text="JSON Pointer; for `move` and `copy`.")},
)


class JsonPatchOperation(_Operation):  # type: ignore[misc, valid-type]  # `from` is a keyword of Python
    """One operation of a JSON Patch (RFC 6902)."""

    op = serializers.ChoiceField(choices=PATCH_OPERATIONS)
    path = serializers.CharField(help_text="JSON Pointer, such as `/attributes/limits/cpu`.")
    value = AnyJSONField(required=False, help_text="For `add`, `replace` and `test`.")


class OverrideRead(serializers.Serializer[Any]):
    id = serializers.UUIDField(allow_null=True)
    resource_type = serializers.CharField()
    scope = ScopeRead()
    attributes = AttributesField()
    version = serializers.IntegerField(
        help_text='Rises with each change of this override; the ETag is `"v<version>"`.'
    )
    revision = serializers.IntegerField(help_text="Rises with each change of any override.")
    created_at = serializers.DateTimeField(allow_null=True, help_text="Null in past states.")
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()
    change_message = serializers.CharField()
    owners = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Managers by leaf. Anybody may change leaves that are not listed.",
    )
    declared_in = serializers.CharField(help_text="File and line, if overrides are loaded from files.")


class OverridePage(serializers.Serializer[Any]):
    items = OverrideRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ResourceTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    number = serializers.IntegerField(allow_null=True, help_text="Number in Flyte's MatchableResource.")
    title = serializers.CharField()
    meaning = serializers.CharField()
    document_key = serializers.CharField(help_text="Name in the overrides document (RFC 3749).")
    strategy = serializers.ChoiceField(choices=STRATEGIES)
    keyed_lists = serializers.DictField(
        child=serializers.CharField(),
        help_text="Lists that merge item by item: the key of their items, by pointer.",
    )
    combine = serializers.DictField(
        child=serializers.CharField(), help_text="Paths with their own merge rule."
    )
    levels = serializers.ListField(
        child=serializers.ChoiceField(choices=LEVEL_NAMES), help_text="Levels at which it can be set."
    )
    not_at = serializers.DictField(
        child=serializers.CharField(), help_text="Levels at which it cannot be set, and why."
    )
    schema = AttributesField(
        help_text="JSON Schema 2020-12 of attributes at one scope; partial documents are valid."
    )
    resolved_schema = AttributesField(
        allow_null=True, help_text="JSON Schema of effective attributes, if it is stricter."
    )
    defaults = AttributesField(help_text="Attributes in effect where nothing is set.")
    hints = AttributesField(help_text="Hints for forms.")
    example = AttributesField()
    built_in = serializers.BooleanField()
    version = serializers.IntegerField(help_text="Version of an operator's type; 0 for a built-in type.")


class ResourceTypeList(serializers.Serializer[Any]):
    items = ResourceTypeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ConfirmedQuery(ReasonedQuery):
    """Query of changes that need confirmation if they affect many scopes or remove many overrides."""

    confirm = serializers.RegexField(
        PATTERN,
        required=False,
        help_text="The plan's `confirm` (see `dry_run=true`): the number of affected scopes, or the plan's "
        "digest. Required if a change affects many scopes or removes many overrides.",
    )


class PublicationQuery(ReasonedQuery):
    """Query of the publication of an approved change, which a freeze may refuse."""

    override_freeze = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=500,
        help_text="Reason to change overrides in spite of a freeze, recorded in the audit log. Requires "
        "`freeze.override` at the scope of the freeze.",
    )


class FreezeOverrideQuery(PublicationQuery, ConfirmedQuery):
    """Query of changes of overrides, which a freeze or an approval policy may refuse."""

    approval_override = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=500,
        help_text="Reason to change overrides without the approvals that they need, recorded in the audit "
        "log. Requires `approval.bypass` at the scope of the policy.",
    )


class WriteOptionsQuery(FreezeOverrideQuery):
    """Options of a change."""

    ticket = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Id or address of the task that the change belongs to, kept in the history.",
    )
    managed_by = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=63,
        help_text="Manager of the values from now on, such as `git`; empty for none.",
    )
    force = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Take over values of other managers. Requires `override.force`.",
    )


class OverrideMutationQuery(ScopeQuery, WriteOptionsQuery):
    """A scope, and options of a change."""


class OverrideListQuery(PageQuery, AsOfQuery):
    resource_type = serializers.CharField(required=False, help_text="Only this type.")
    level = serializers.ChoiceField(choices=LEVEL_NAMES, required=False, help_text="Only at this level.")
    project = serializers.CharField(required=False, help_text="Only this project.")
    domain = serializers.CharField(required=False, help_text="Only this domain.")
    workflow = serializers.CharField(required=False, help_text="Only this workflow.")
    launch_plan = serializers.CharField(required=False, help_text="Only this launch plan.")
    managed_by = serializers.CharField(
        required=False, max_length=63, help_text="Only overrides with a value that this manager manages."
    )
    changed_by = serializers.CharField(
        required=False, max_length=63, help_text="Only overrides that this principal changed last."
    )
    q = serializers.CharField(
        required=False,
        max_length=255,
        help_text="Text in the scope, type, message or values, ignoring case.",
    )
    value = serializers.CharField(
        required=False,
        max_length=500,
        help_text="Only overrides that set this value, such as `limits.cpu=4` or `max_parallelism=10`. The "
        "path may begin anywhere in a document.",
    )
    sort = SortField(SORT_KEYS, default="id")

    def validate_value(self, text: str) -> ValueTerm:
        term = parse_term(text)
        if term is None:
            raise serializers.ValidationError("Write a path and a value, such as limits.cpu=4.")
        return term


def show_override(override: Override) -> dict[str, Any]:
    return dict(OverrideRead(override).data) | {"scope": show_scope(override.scope)}


def show_past_override(version: OverrideVersion) -> dict[str, Any]:
    """Return a version in the form of an override."""
    return {
        **{name: getattr(version, name) for name in _SHARED},
        "id": str(version.override_id) if version.override_id else None,
        "scope": show_scope(version.scope),
        "created_at": None,
    }


def show_resource_type(resource_type: ResourceType) -> dict[str, Any]:
    return {
        "name": resource_type.name,
        "number": resource_type.number,
        "title": resource_type.title,
        "meaning": resource_type.meaning,
        "document_key": resource_type.document_key,
        "strategy": resource_type.rule.strategy.value,
        "keyed_lists": {pointer_of(path): key for path, key in resource_type.rule.keyed_lists.items()},
        "combine": {pointer_of(path): combine.value for path, combine in resource_type.rule.combine.items()},
        "levels": [level.name.lower() for level in resource_type.levels],
        "not_at": {level.name.lower(): reason for level, reason in resource_type.not_at.items()},
        "schema": resource_type.schema,
        "resolved_schema": resource_type.resolved_schema,
        "defaults": resource_type.defaults,
        "hints": resource_type.hints,
        "example": resource_type.example,
        "built_in": resource_type.is_built_in,
        "version": resource_type.version,
    }
