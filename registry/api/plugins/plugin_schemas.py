"""API schemas of installed plugins and of the lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Text
from controlplane.identity.callers import Caller
from plugin_store.lock_document import without_credentials
from registry.api.plugins.config_schemas import TeamQuery
from registry.api.plugins.release_schemas import PLUGIN_STATES
from registry.jobs.plugin_lookup import image_of
from registry.jobs.plugin_use import jobs_of_plugins
from registry.plugin_releases import listing
from registry.plugin_releases.activation import live_nodes
from registry.plugin_releases.models import ReleasedPlugin
from registry.plugin_releases.node_installation import usable_artifact
from registry.plugin_releases.plugin_sets import name_of


class PluginRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    provider = serializers.CharField()
    version = serializers.CharField(help_text="Of what runs, or empty.")
    state = serializers.ChoiceField(
        PLUGIN_STATES, help_text="degraded: it keeps an earlier version. missing: it has none."
    )
    problem = serializers.CharField(help_text="Why it is degraded or missing, or empty.")
    sha256 = serializers.CharField(help_text="Of the archive, or empty.")
    size = serializers.IntegerField(help_text="Bytes of the archive.")
    config = serializers.DictField(help_text="Its variables.")
    url = serializers.CharField(help_text="Where the archive was fetched, without credentials; or empty.")
    image = serializers.CharField(help_text="That jobs run, or empty without a specification.")
    nodes_ready = serializers.IntegerField(help_text="Live nodes that have it as released.")
    nodes_live = serializers.IntegerField()
    jobs = serializers.IntegerField(help_text="Jobs that you may read and that use it.")
    release_id = serializers.UUIDField()
    release_number = serializers.IntegerField()


class PluginPage(serializers.Serializer[Any]):
    items = PluginRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ArtifactQuery(TeamQuery):
    sha256 = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=64,
        help_text="Of the lock: 404 once the active release has another archive.",
    )


class LockedPluginRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    version = serializers.CharField(allow_null=True)
    provider = serializers.CharField()
    url = serializers.CharField(help_text="Where it was fetched, without credentials.")
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField(help_text="Of the archive.")
    tree = serializers.CharField(help_text="SHA-256 over its unpacked files.")
    platform = serializers.CharField()
    signature = serializers.DictField(allow_null=True)
    fetchedAt = serializers.CharField()
    configHash = serializers.CharField()


class PluginLockRead(serializers.Serializer[Any]):
    lockVersion = serializers.IntegerField()
    generatedBy = serializers.CharField()
    configHash = serializers.CharField()
    plugins = LockedPluginRead(many=True)


def show_plugins(rows: Sequence[ReleasedPlugin], caller: Caller) -> list[dict[str, Any]]:
    """Return plugins with their nodes and jobs."""
    nodes, jobs, live = listing.nodes_with(rows), jobs_of_plugins(caller, rows), len(live_nodes())
    return [
        {
            **_show_plugin(row),
            "nodes_ready": nodes[row.id],
            "nodes_live": live,
            "jobs": jobs[name_of(row.release.plugin_set), row.name],
        }
        for row in rows
    ]


def _show_plugin(row: ReleasedPlugin) -> dict[str, Any]:
    artifact = usable_artifact(row)
    return {
        "name": row.name,
        "team": name_of(row.release.plugin_set) or None,
        "provider": row.provider,
        "version": listing.version_text(artifact),
        "state": listing.state_of(row),
        "problem": row.problem,
        "sha256": artifact.sha256 if artifact else "",
        "size": artifact.size if artifact else 0,
        "config": row.entry["config"],
        "url": without_credentials(artifact.url) if artifact else "",
        "image": image_of(row),
        "release_id": row.release_id,
        "release_number": row.release.number,
    }
