"""Schemas of projects and domains."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Text
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from overrides.models import Domain, Project, ProjectState
from overrides.projects import ProjectFields
from overrides.querysets import PROJECT_SORT_KEYS

STATES = [(label, label) for label in ProjectState.labels]


def _labels() -> serializers.DictField:
    return serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=63),
        required=False,
        help_text="Kubernetes labels of executions; at most 16.",
    )


class ProjectListQuery(PageQuery):
    q = Text(required=False, max_length=255, help_text="Filter by a part of the id, name or description.")
    state = serializers.ChoiceField(choices=STATES, required=False, help_text="Only in this state.")
    selector = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Label selector as in Kubernetes: team=ml,tier!=dev,region in (eu,us),!old.",
    )
    sort = SortField(PROJECT_SORT_KEYS, default="id")


class ProjectWrite(StrictSerializer):
    id = Text(max_length=63, help_text="Lower-case letters, digits and inner hyphens.")
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
    state = serializers.ChoiceField(
        choices=STATES, help_text="Archived projects are hidden in Flyte's lists."
    )
    version = serializers.IntegerField(help_text="Rises with each change.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class ProjectPage(serializers.Serializer[Any]):
    items = ProjectRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class DomainWrite(StrictSerializer):
    id = Text(max_length=63, help_text="Lower-case letters, digits and inner hyphens.")
    name = Text(max_length=64, required=False, default="", allow_blank=True)


class DomainRead(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()


class DomainListQuery(PageQuery):
    q = SearchField("id", "name")
    sort = SortField(SortKeys.of("id", "name", "created_at"), default="id")


class DomainPage(serializers.Serializer[Any]):
    items = DomainRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_project(project: Project) -> dict[str, Any]:
    state = ProjectState(project.state).label
    names = ("id", "name", "description", "version", "created_at", "updated_at")
    columns = {name: getattr(project, name) for name in names}
    return dict(ProjectRead({**columns, "labels": project.labels or {}, "state": state}).data)


def project_fields(body: dict[str, Any], *, state: str | None) -> ProjectFields:
    return ProjectFields(
        body.get("name"),
        body.get("description"),
        body.get("labels"),
        None if state is None else ProjectState(ProjectState.labels.index(state)),
    )


def show_domain(domain: Domain) -> dict[str, Any]:
    return dict(DomainRead(domain).data)
