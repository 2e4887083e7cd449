"""What people read of plugins and releases: states, nodes, and the lock that clients install."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from controlplane import __version__
from controlplane.access.team_models import Team
from controlplane.errors import UnknownPlugin, UnknownPluginRelease
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from plugin_store.lock_document import (
    LockDocument,
    LockedPlugin,
    LockedSignature,
    without_credentials,
    write_lock,
)
from plugin_store.names import version_of
from registry.plugin_releases.activation import live_nodes, progress_of
from registry.plugin_releases.activation_decisions import Progress
from registry.plugin_releases.models import (
    PluginArtifact,
    PluginInstallation,
    PluginRelease,
    ReleasedPlugin,
    ReleaseState,
)
from registry.plugin_releases.node_installation import usable_artifact
from registry.plugin_releases.plugin_sets import find_set, visible_sets

ACTIVE, DEGRADED, MISSING, FETCHING = "active", "degraded", "missing", "fetching"
# Of the releases with a plugin, when one of its versions is wanted.
_LOOKED_AT = 500
PLUGIN_STATES = (ACTIVE, DEGRADED, MISSING, FETCHING)


def state_of(row: ReleasedPlugin) -> str:
    """Return the state of a plugin: degraded keeps an earlier version, missing has none at all."""
    if row.artifact_id is not None:
        return ACTIVE
    if row.fallback_id is not None:
        return DEGRADED
    return MISSING if row.problem else FETCHING


def visible_releases(caller: Caller) -> QuerySet[PluginRelease]:
    """Return the releases that the caller may read."""
    rows = PluginRelease.objects.filter(plugin_set__in=visible_sets(caller))
    return rows.select_related("plugin_set__team", "config")


def get_release(caller: Caller, release_id: UUID, action: Action = Action.PLUGIN_READ) -> PluginRelease:
    """Return a release on which the caller may perform the action. Raises UnknownPluginRelease."""
    release = visible_releases(caller).filter(id=release_id).first()
    if release is None:
        raise UnknownPluginRelease(
            f"There is no release {release_id}. `GET /api/v1/plugin-releases` lists those that you may read."
        )
    caller.require(action, owner=release.plugin_set.team_id)
    return release


def active_plugins(caller: Caller) -> QuerySet[ReleasedPlugin]:
    """Return the plugins of all active releases that the caller may read."""
    rows = ReleasedPlugin.objects.filter(
        release__state=ReleaseState.ACTIVE, release__plugin_set__in=visible_sets(caller)
    )
    return rows.select_related("release__plugin_set__team", "artifact", "fallback")


def get_plugin(caller: Caller, team: Team | None, name: str) -> ReleasedPlugin:
    """Return a plugin of an active release. Raises UnknownPlugin."""
    row = active_plugins(caller).filter(release__plugin_set__team=team, name=name).first()
    if row is None:
        raise UnknownPlugin(
            f"The active release has no plugin {name[:80]!r}. `GET /api/v1/plugins` lists the plugins."
        )
    return row


def get_plugin_version(caller: Caller, team: Team | None, name: str, version: str) -> ReleasedPlugin:
    """Return a plugin of the newest release that has this version of it. Raises UnknownPlugin."""
    rows = ReleasedPlugin.objects.filter(release__in=visible_releases(caller), name=name)
    rows = rows.filter(release__plugin_set__team=team).exclude(artifact=None)
    found = rows.select_related("release__plugin_set__team", "artifact", "fallback").order_by("-release_id")
    for row in found[:_LOOKED_AT]:
        if version_text(row.artifact) == version:
            return row
    raise UnknownPlugin(
        f"None of the last releases has version {version[:80]!r} of a plugin {name[:80]!r}."
        " `GET /api/v1/plugin-releases` lists the releases."
    )


def version_text(artifact: PluginArtifact | None) -> str:
    """Return the version that people see: of the specification, or else one of the digest."""
    return version_of(artifact.version or None, artifact.sha256) if artifact else ""


@dataclass(frozen=True, slots=True)
class NodeState:
    """What a node has of a release."""

    row: PluginInstallation
    is_live: bool


def nodes_of(release: PluginRelease) -> tuple[list[NodeState], Progress]:
    """Return the nodes of a release by name, and how far the live ones are."""
    live = live_nodes()
    rows = release.installations.order_by("node_id")
    return [NodeState(row, row.node_id in live) for row in rows], progress_of(release, live)


@dataclass(frozen=True, slots=True)
class PublishedLock:
    """A lock as `plugins.lock.json` has it. digest: of its text."""

    content: Any
    digest: str


def active_lock(caller: Caller, slug: str) -> PublishedLock:
    """Return the lock of a set's active release.

    Raises UnknownPluginRelease without an active release.
    """
    plugin_set = find_set(caller, slug)
    if plugin_set is None or plugin_set.active is None:
        raise UnknownPluginRelease("There is no active release, so nothing is to be installed.")
    text = write_lock(lock_of(plugin_set.active))
    return PublishedLock(json.loads(text), hashlib.sha256(text).hexdigest())


def lock_of(release: PluginRelease) -> LockDocument:
    """Return what exactly is installed of a release. A degraded plugin is locked to what it keeps."""
    rows = release.plugins.select_related("artifact", "fallback").order_by("name")
    plugins = tuple(_locked(row, artifact) for row in rows if (artifact := usable_artifact(row)))
    return LockDocument(f"controlplane {__version__}", release.config.digest, plugins)


def _locked(row: ReleasedPlugin, artifact: PluginArtifact) -> LockedPlugin:
    signature: Any = artifact.signature
    return LockedPlugin(
        name=row.name,
        version=artifact.version or None,
        provider=row.provider,
        url=without_credentials(artifact.url),
        size=artifact.size,
        sha256=artifact.sha256,
        tree=artifact.tree,
        platform="any",
        signature=LockedSignature(signature["method"], signature["key"]) if signature else None,
        fetched_at=artifact.fetched_at.isoformat(),
        config_hash=row.revision,
    )


def nodes_with(rows: Iterable[ReleasedPlugin]) -> Counter[UUID]:
    """Return on how many live nodes each plugin is installed as released, by its id."""
    rows = list(rows)
    installed = PluginInstallation.objects.filter(
        release__in={row.release_id for row in rows}, node__in=live_nodes()
    )
    states: dict[UUID, list[Any]] = {}
    for release_id, plugins in installed.values_list("release_id", "plugins"):
        states.setdefault(release_id, []).append(plugins)
    return Counter(
        {
            row.id: sum(
                plugins.get(row.name, {}).get("state") == ACTIVE for plugins in states.get(row.release_id, ())
            )
            for row in rows
        }
    )


def removed_by(release: PluginRelease, names: list[str]) -> list[str]:
    """Return the plugins of the active release that a release that is not active yet leaves out."""
    if release.state not in (ReleaseState.RESOLVING, ReleaseState.READY):
        return []
    rows = ReleasedPlugin.objects.filter(release_id=release.plugin_set.active_id).exclude(name__in=names)
    return list(rows.order_by("name").values_list("name", flat=True))
