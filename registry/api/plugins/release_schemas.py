"""API schemas of plugin configurations, secrets, releases and plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from controlplane.api.endpoints import MutationQuery, ReasonedQuery
from controlplane.api.fields import Query, StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.identity.callers import Caller
from registry.jobs.plugin_use import jobs_of_plugins
from registry.plugin_releases import listing
from registry.plugin_releases.activation import live_nodes
from registry.plugin_releases.activation_decisions import Progress
from registry.plugin_releases.models import (
    InstallationState,
    PluginConfig,
    PluginNode,
    PluginRelease,
    PluginSecret,
    PluginSource,
    ReleasedPlugin,
    ReleaseState,
)
from registry.plugin_releases.node_installation import usable_artifact
from registry.plugin_releases.plugin_sets import name_of
from registry.plugin_releases.release_plans import PluginChange
from registry.plugins.documents.reading import MAX_BYTES

PLUGIN_STATES = [(state, state) for state in listing.PLUGIN_STATES]
PLUGIN_CHANGES = [(change.value, change.value) for change in PluginChange]
ACTIVATIONS = [("automatic", "automatic"), ("manual", "manual")]
_MOST_SECRET = 64 * 1024
_TEAM_HELP = "Whose plugins. If omitted: the platform's, or those of the only team that you reach."


class TeamQuery(Query):
    team = Text(required=False, default="", allow_blank=True, max_length=63, help_text=_TEAM_HELP)


class TeamChangeQuery(ReasonedQuery):
    team = Text(required=False, default="", allow_blank=True, max_length=63, help_text=_TEAM_HELP)


class TeamMutationQuery(MutationQuery):
    team = Text(required=False, default="", allow_blank=True, max_length=63, help_text=_TEAM_HELP)


class TeamPageQuery(PageQuery):
    team = Text(
        required=False,
        allow_blank=True,
        max_length=63,
        help_text="Of one team. If omitted: all that you may read.",
    )


class PluginConfigWrite(StrictSerializer):
    text = serializers.CharField(
        max_length=MAX_BYTES, trim_whitespace=False, help_text="The configuration, as YAML or JSON."
    )


class PluginConfigRead(serializers.Serializer[Any]):
    team = serializers.CharField(allow_null=True, help_text="Null for the platform.")
    version = serializers.IntegerField()
    digest = serializers.CharField(help_text="SHA-256 of the normal form.")
    origin = serializers.ChoiceField(
        PluginSource.choices, help_text="folder: of PLUGIN_CONFIG_PATH; the API refuses writes."
    )
    document = serializers.DictField(help_text="The normal form, without secrets.")
    message = serializers.CharField(help_text="Why it was changed, or empty.")
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class PluginConfigPage(serializers.Serializer[Any]):
    items = PluginConfigRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class PluginSecretWrite(StrictSerializer):
    value = serializers.CharField(
        max_length=_MOST_SECRET,
        trim_whitespace=False,
        write_only=True,
        help_text="The credential. It is sealed and never shown. For type aws: JSON with access_key_id and"
        " secret_access_key.",
    )


class PluginSecretRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    version = serializers.IntegerField()
    changed_at = serializers.DateTimeField()
    changed_by = serializers.CharField()


class PluginSecretPage(serializers.Serializer[Any]):
    items = PluginSecretRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


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
    release_id = serializers.UUIDField()
    release_number = serializers.IntegerField()
    nodes_ready = serializers.IntegerField(help_text="Live nodes that have it.")
    nodes_live = serializers.IntegerField()
    jobs = serializers.IntegerField(help_text="Jobs that use it, of those that you may read.")


class PluginPage(serializers.Serializer[Any]):
    items = PluginRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ArtifactQuery(TeamQuery):
    sha256 = serializers.RegexField(
        r"[0-9a-f]{64}",
        required=False,
        default="",
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


class PluginNodePage(serializers.Serializer[Any]):
    items = PluginNodeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


def show_config(config: PluginConfig) -> dict[str, Any]:
    return {
        "team": name_of(config.plugin_set) or None,
        "version": config.version,
        "digest": config.digest,
        "origin": config.plugin_set.source,
        "document": config.document,
        "message": config.message,
        "changed_at": config.changed_at,
        "changed_by": config.changed_by,
    }


def show_secret(secret: PluginSecret) -> dict[str, Any]:
    return {
        "name": secret.name,
        "team": name_of(secret.plugin_set) or None,
        "version": secret.version,
        "changed_at": secret.changed_at,
        "changed_by": secret.changed_by,
    }


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
        "release_id": row.release_id,
        "release_number": row.release.number,
    }


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
