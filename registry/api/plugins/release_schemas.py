"""API schemas of plugin releases, and of the nodes that install them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from registry.plugin_releases import listing
from registry.plugin_releases.activation_decisions import Progress
from registry.plugin_releases.models import (
    InstallationState,
    PluginNode,
    PluginRelease,
    ReleasedPlugin,
    ReleaseState,
)
from registry.plugin_releases.node_installation import usable_artifact
from registry.plugin_releases.plugin_sets import name_of
from registry.plugin_releases.release_plans import PluginChange

PLUGIN_STATES = [(state, state) for state in listing.PLUGIN_STATES]
PLUGIN_CHANGES = [(change.value, change.value) for change in PluginChange]
ACTIVATIONS = [("automatic", "automatic"), ("manual", "manual")]


class PluginReleaseWrite(StrictSerializer):
    activate = serializers.ChoiceField(
        ACTIVATIONS,
        required=False,
        default="automatic",
        help_text="automatic: as soon as enough nodes have it. manual: with :activate.",
    )
    min_active = Whole(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=100_000,
        help_text="Nodes that must have it. Null: all live ones.",
    )
    message = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=500,
        help_text="Reason for the release, instead of `change_message`.",
    )


class ReleasedPluginRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    provider = serializers.CharField()
    change = serializers.ChoiceField(
        PLUGIN_CHANGES, help_text="released: another configuration of the archive that is there already."
    )
    state = serializers.ChoiceField(PLUGIN_STATES)
    version = serializers.CharField(help_text="Of what runs, or empty.")
    sha256 = serializers.CharField()
    size = serializers.IntegerField()
    problem = serializers.CharField()


class ReleaseNodeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    state = serializers.ChoiceField(InstallationState.choices)
    lock_revision = serializers.IntegerField()
    message = serializers.CharField()
    live = serializers.BooleanField(help_text="Whether it was heard of within 60 seconds.")
    reported_at = serializers.DateTimeField()


class ReleaseSummary(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    team = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(ReleaseState.choices)
    config_version = serializers.IntegerField()
    lock_revision = serializers.IntegerField(help_text="Rises when a late plugin follows.")
    downloaded = serializers.IntegerField(help_text="Bytes from providers.")
    activate = serializers.ChoiceField(ACTIVATIONS)
    min_active = serializers.IntegerField(allow_null=True)
    message = serializers.CharField()
    waiting_for = serializers.CharField(help_text="What it needs to become active, or empty.")
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField()
    ready_at = serializers.DateTimeField(allow_null=True)
    activated_at = serializers.DateTimeField(allow_null=True)
    activated_by = serializers.CharField()


class PluginReleaseRead(ReleaseSummary):
    plugins = ReleasedPluginRead(many=True)
    removed = serializers.ListField(
        child=serializers.CharField(), help_text="Plugins of the active release that this one does not have."
    )
    nodes = ReleaseNodeRead(many=True)
    nodes_ready = serializers.IntegerField(help_text="Live nodes that have it.")
    nodes_required = serializers.IntegerField()


class PluginReleasePage(serializers.Serializer[Any]):
    items = ReleaseSummary(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class PluginNodeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    server_version = serializers.CharField()
    live = serializers.BooleanField()
    seen_at = serializers.DateTimeField()
    joined_at = serializers.DateTimeField()


class PluginNodeListQuery(PageQuery):
    q = SearchField("name", "server_version")
    sort = SortField(SortKeys.of("name", "seen_at", "joined_at", tie_break="name"), default="name")


class PluginNodePage(serializers.Serializer[Any]):
    items = PluginNodeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_summary(release: PluginRelease) -> dict[str, Any]:
    return {
        "id": release.id,
        "number": release.number,
        "team": name_of(release.plugin_set) or None,
        "state": release.state,
        "config_version": release.config.version,
        "lock_revision": release.lock_revision,
        "downloaded": release.downloaded,
        "activate": "automatic" if release.is_automatic else "manual",
        "min_active": release.min_active,
        "message": release.message,
        "waiting_for": release.waiting_for,
        "created_at": release.created_at,
        "created_by": release.created_by,
        "ready_at": release.ready_at,
        "activated_at": release.activated_at,
        "activated_by": release.activated_by,
    }


def show_release(release: PluginRelease) -> dict[str, Any]:
    nodes, progress = listing.nodes_of(release)
    rows = list(release.plugins.select_related("artifact", "fallback").order_by("name"))
    return {
        **show_summary(release),
        "plugins": [_show_released(row) for row in rows],
        "removed": listing.removed_by(release, [row.name for row in rows]),
        "nodes": [_show_node(node) for node in nodes],
        **_show_progress(progress),
    }


def _show_released(row: ReleasedPlugin) -> dict[str, Any]:
    artifact = usable_artifact(row)
    return {
        "name": row.name,
        "provider": row.provider,
        "change": row.change,
        "state": listing.state_of(row),
        "version": listing.version_text(artifact),
        "sha256": artifact.sha256 if artifact else "",
        "size": artifact.size if artifact else 0,
        "problem": row.problem,
    }


def _show_node(node: listing.NodeState) -> dict[str, Any]:
    return {
        "name": node.row.node_id,
        "state": node.row.state,
        "lock_revision": node.row.lock_revision,
        "message": node.row.message,
        "live": node.is_live,
        "reported_at": node.row.reported_at,
    }


def _show_progress(progress: Progress) -> dict[str, Any]:
    return {"nodes_ready": progress.have, "nodes_required": progress.required}


def show_installer(node: PluginNode, *, is_live: bool) -> dict[str, Any]:
    return {
        "name": node.name,
        "server_version": node.server_version,
        "live": is_live,
        "seen_at": node.seen_at,
        "joined_at": node.joined_at,
    }
