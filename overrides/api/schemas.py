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
from overrides.api.as_of import AsOfQuery
from overrides.editing.confirmation import PATTERN
from overrides.models import Domain, Override, OverrideVersion, Project, ProjectState
from overrides.projects import ProjectFields
from overrides.querysets import ORDERS
from overrides.resolution.merging import Strategy
from overrides.resource_types import ResourceType
from overrides.resource_types.operators import pointer_of

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

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class OverrideWrite(StrictSerializer):
    attributes = AttributesField()


class OverridePreviewWrite(StrictSerializer):
    attributes = AttributesField(required=False, help_text="Absent: the override is removed.")


class OverrideRead(serializers.Serializer[Any]):
    id = serializers.UUIDField(allow_null=True)
    resource_type = serializers.CharField()
    scope = ScopeRead()
    attributes = AttributesField()
    version = serializers.IntegerField(help_text='Rises with each change here; the ETag is `"v<version>"`.')
    revision = serializers.IntegerField(help_text="Rises with each change of any override.")
    created_at = serializers.DateTimeField(allow_null=True, help_text="Not told for the past.")
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()
    change_message = serializers.CharField()
    owners = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Leaf to its managers. A leaf that is not listed is anybody's.",
    )
    declared_in = serializers.CharField(help_text="File and line, where overrides come from files.")


class OverridePage(serializers.Serializer[Any]):
    items = OverrideRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


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
    combine = serializers.DictField(
        child=serializers.CharField(), help_text="Paths that merge by a rule of their own."
    )
    levels = serializers.ListField(
        child=serializers.ChoiceField(choices=LEVEL_NAMES), help_text="Where it may be set."
    )
    not_at = serializers.DictField(
        child=serializers.CharField(), help_text="Levels at which it may not be set, and why."
    )
    schema = AttributesField(help_text="JSON Schema 2020-12 of what is set at one scope; parts are legal.")
    resolved_schema = AttributesField(allow_null=True, help_text="Of what applies, where it says more.")
    defaults = AttributesField(help_text="What applies where nothing is set.")
    hints = AttributesField(help_text="For forms.")
    example = AttributesField()
    built_in = serializers.BooleanField()
    version = serializers.IntegerField(help_text="Of an operator's type; 0 for a built-in one.")


class ResourceTypeList(serializers.Serializer[Any]):
    items = ResourceTypeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


STATES = [(label, label) for label in ProjectState.labels]


def _labels() -> serializers.DictField:
    return serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=63),
        required=False,
        help_text="Kubernetes labels that executions carry; 16 at most.",
    )


class ProjectWrite(StrictSerializer):
    id = Text(max_length=63, help_text="Lower-case letters, digits, inner hyphens.")
    name = Text(max_length=64, required=False, default="", allow_blank=True)
    description = Text(max_length=300, required=False, default="", allow_blank=True, lines=True)
    labels = _labels()
    state = serializers.ChoiceField(choices=STATES, required=False, default="active")


class ProjectPatch(StrictSerializer):
    name = Text(max_length=64, required=False)
    description = Text(max_length=300, required=False, allow_blank=True, lines=True)
    labels = _labels()
    state = serializers.ChoiceField(choices=STATES, required=False)


class ProjectRead(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField()
    labels = serializers.DictField(child=serializers.CharField(), help_text="Kubernetes labels.")
    state = serializers.ChoiceField(choices=STATES, help_text="Archived ones are hidden from Flyte's lists.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


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


class ConfirmedQuery(ReasonedQuery):
    """For changes that ask for a confirmation if they reach far."""

    confirm = serializers.RegexField(
        PATTERN,
        required=False,
        help_text="What the plan (`dry_run=true`) names as `confirm`: the number of affected scopes, or the "
        "plan's digest. Needed where a change reaches many scopes or removes many overrides.",
    )


class TermsQuery(ConfirmedQuery):
    """On what terms something is changed."""

    managed_by = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=63,
        help_text="Who manages the values from now on, such as `git`. Empty: nobody.",
    )
    force = serializers.BooleanField(
        required=False, default=False, help_text="Take values from their managers. Needs `override.force`."
    )


class OverrideMutationQuery(ScopeQuery, TermsQuery):
    """A scope, and the terms of a change."""


class OverrideListQuery(PageQuery, AsOfQuery):
    resource_type = serializers.CharField(required=False, help_text="Only this type.")
    level = serializers.ChoiceField(choices=LEVEL_NAMES, required=False, help_text="Only at this level.")
    project = serializers.CharField(required=False, help_text="Only of this project.")
    domain = serializers.CharField(required=False, help_text="Only of this domain.")
    workflow = serializers.CharField(required=False, help_text="Only of this workflow.")
    launch_plan = serializers.CharField(required=False, help_text="Only of this launch plan.")
    managed_by = serializers.CharField(
        required=False, max_length=63, help_text="Only with a value that this manager manages."
    )
    changed_by = serializers.CharField(
        required=False, max_length=63, help_text="Only if this principal changed them last."
    )
    q = serializers.CharField(
        required=False,
        max_length=255,
        help_text="A text in the scope, type, message or values; case does not matter.",
    )
    sort = serializers.ChoiceField(
        choices=[(name, name) for name in ORDERS],
        required=False,
        default="id",
        help_text="The order of the list; with a minus sign the other way round.",
    )


def show_override(override: Override) -> dict[str, Any]:
    return dict(OverrideRead(override).data) | {"scope": show_scope(override.scope)}


def show_past_override(version: OverrideVersion) -> dict[str, Any]:
    """A version as the override that it was."""
    return {
        **{name: getattr(version, name) for name in _SHARED},
        "id": str(version.override_id) if version.override_id else None,
        "scope": show_scope(version.scope),
        "created_at": None,
    }


def show_resource_type(one: ResourceType) -> dict[str, Any]:
    return {
        "name": one.name,
        "number": one.number,
        "title": one.title,
        "meaning": one.meaning,
        "document_key": one.document_key,
        "strategy": one.rule.strategy.value,
        "keyed_lists": {pointer_of(path): key for path, key in one.rule.keyed_lists.items()},
        "combine": {pointer_of(path): how.value for path, how in one.rule.combine.items()},
        "levels": [level.name.lower() for level in one.levels],
        "not_at": {level.name.lower(): reason for level, reason in one.not_at.items()},
        "schema": one.schema,
        "resolved_schema": one.resolved_schema,
        "defaults": one.defaults,
        "hints": one.hints,
        "example": one.example,
        "built_in": one.is_built_in,
        "version": one.version,
    }


def show_project(project: Project) -> dict[str, Any]:
    state = ProjectState(project.state).label
    shown = {
        name: getattr(project, name) for name in ("id", "name", "description", "created_at", "updated_at")
    }
    return dict(ProjectRead({**shown, "labels": project.labels or {}, "state": state}).data)


def project_fields(wanted: dict[str, Any], *, state: str | None) -> ProjectFields:
    return ProjectFields(
        wanted.get("name"),
        wanted.get("description"),
        wanted.get("labels"),
        None if state is None else ProjectState(ProjectState.labels.index(state)),
    )


def show_domain(domain: Domain) -> dict[str, Any]:
    return dict(DomainRead(domain).data)
