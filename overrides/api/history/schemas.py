"""Schemas of history: versions, revisions, differences, blame."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.scopes import ScopeQuery, ScopeRead, show_scope
from overrides.api.as_of import ScopeAsOfQuery
from overrides.api.plan_schemas import LeafDifference
from overrides.api.schemas import AnyJSONField, AttributesField, WriteOptionsQuery
from overrides.history.history import BlamedLeaf
from overrides.models import OverrideVersion, Revision

_DECLARED_IN = "File and line, if the version was loaded from files."
_COMMIT = "Commit of the files that the version was loaded from; empty if it is not known."


class VersionRead(serializers.Serializer[Any]):
    """The state of an override after one change. `attributes` is null after a deletion."""

    resource_type = serializers.CharField()
    scope = ScopeRead()
    version = serializers.IntegerField()
    revision = serializers.IntegerField()
    attributes = AttributesField(allow_null=True)
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()
    change_message = serializers.CharField()
    ticket = serializers.CharField(help_text="Id or address of a task; empty if nobody named one.")
    request_id = serializers.CharField()
    declared_in = serializers.CharField(help_text=_DECLARED_IN)
    commit = serializers.CharField(help_text=_COMMIT)


class VersionPage(serializers.Serializer[Any]):
    items = VersionRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class VersionDiffRead(serializers.Serializer[Any]):
    before = VersionRead()
    after = VersionRead()
    differences = LeafDifference(many=True)


class RevisionRead(serializers.Serializer[Any]):
    """One transaction that changed effective values."""

    revision = serializers.IntegerField()
    made_at = serializers.DateTimeField()
    made_by = serializers.CharField()
    change_message = serializers.CharField()
    ticket = serializers.CharField(help_text="Id or address of a task; empty if nobody named one.")
    request_id = serializers.CharField()
    changes = serializers.IntegerField(help_text="Number of changed overrides.")
    everything = serializers.BooleanField(help_text="True if it changed a resource type or a guard rail.")


class RevisionPage(serializers.Serializer[Any]):
    items = RevisionRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class RevisionChangeRead(serializers.Serializer[Any]):
    """One override that differs between two revisions. null: no override."""

    resource_type = serializers.CharField()
    scope = ScopeRead()
    before = AttributesField(allow_null=True)
    after = AttributesField(allow_null=True)
    last_change = VersionRead()
    differences = LeafDifference(many=True)


class RevisionDiffPage(serializers.Serializer[Any]):
    items = RevisionChangeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class BlameLine(serializers.Serializer[Any]):
    pointer = serializers.CharField()
    value = AnyJSONField()
    managers = serializers.ListField(
        child=serializers.CharField(), help_text="Who manages the value; empty if anybody may change it."
    )
    version = serializers.IntegerField(help_text="The version that set this value.")
    revision = serializers.IntegerField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()
    change_message = serializers.CharField()
    ticket = serializers.CharField(help_text="Id or address of a task; empty if nobody named one.")
    request_id = serializers.CharField()
    declared_in = serializers.CharField(help_text=_DECLARED_IN)
    commit = serializers.CharField(help_text=_COMMIT)


class BlameRead(serializers.Serializer[Any]):
    items = BlameLine(many=True)


class VersionListQuery(ScopeQuery, PageQuery):
    """A scope, and a page."""


class BlameQuery(ScopeAsOfQuery):
    """A scope, now or at a revision or time."""


_FROM = {
    "from": serializers.IntegerField(
        min_value=0, help_text="The earlier revision; 0 is before the first change."
    )
}
_DiffQuery = type("_DiffQuery", (VersionListQuery,), _FROM)


class RevisionDiffQuery(_DiffQuery):  # type: ignore[misc, valid-type]  # `from` is a keyword of Python
    """Two revisions, and a scope: only overrides at or below it."""

    to = serializers.IntegerField(
        min_value=0, required=False, help_text="The later revision; by default the current one."
    )
    resource_type = serializers.CharField(required=False, help_text="Only this type.")


class RollbackQuery(ScopeQuery, WriteOptionsQuery):
    """A scope, and options of a change."""


class OverrideRollback(StrictSerializer):
    to_version = Whole(min_value=1, help_text="The version to restore.")


class ScopeRollback(StrictSerializer):
    to_revision = Whole(
        min_value=0, help_text="The revision to restore, for all overrides at and below the scope."
    )
    resource_type = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Only this type."
    )


def show_version(version: OverrideVersion) -> dict[str, Any]:
    return dict(VersionRead(version).data) | {"scope": show_scope(version.scope)}


def show_revision(revision: Revision) -> dict[str, Any]:
    return dict(RevisionRead(revision).data)


def show_blamed(blamed: BlamedLeaf) -> dict[str, Any]:
    names = ("version", "revision", "changed_at", "changed_by", "change_message", "ticket", "request_id")
    change = {name: getattr(blamed.version, name) for name in (*names, "declared_in", "commit")}
    return {
        "pointer": blamed.pointer,
        "value": blamed.value,
        "managers": list(blamed.managers),
        **change,
    }
