"""Installs releases on this node, from the content store into its own folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from controlplane.errors import UnknownPluginArtifact
from controlplane.messaging.failpoints import reach
from plugin_store.digests import Checksum
from plugin_store.errors import PluginStoreError, SourceFailed
from plugin_store.installation import install
from plugin_store.plugin_requests import InstallMode, InstallOptions, InstallReport, PluginRequest
from plugin_store.progress import Step
from plugin_store.store_layout import StoreLayout
from registry.plugin_releases.activation import report
from registry.plugin_releases.content_store import ContentStore
from registry.plugin_releases.models import (
    InstallationState,
    PluginArtifact,
    PluginRelease,
    PluginSet,
    ReleasedPlugin,
    ReleaseState,
)
from registry.plugin_releases.resolving import limits


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """An archive of the content store, as the installation reads it."""

    store: ContentStore
    sha256: str
    size: int | None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        try:
            with self.store.open(self.sha256) as archive:
                yield archive
        except UnknownPluginArtifact as error:
            raise SourceFailed(
                "The archive is not in the content store.",
                why="PLUGIN_STORE of this node is another one, or somebody removed the file.",
                advice="Set PLUGIN_STORE alike on all nodes, or create a release.",
            ) from error


def wanted_release(plugin_set: PluginSet) -> PluginRelease | None:
    """Return the release that nodes have: the one that becomes active by itself, or else the active one."""
    rows = plugin_set.releases.select_related("config", "plugin_set__team")
    ready = rows.filter(state=ReleaseState.READY, is_automatic=True).order_by("-number").first()
    return ready or rows.filter(state=ReleaseState.ACTIVE).first()


def install_on_node(
    node: str, plugin_set: PluginSet, store: ContentStore, now: datetime, *, is_checked: bool
) -> None:
    """Bring this node to the wanted release of a set, and report it. Without a change it does nothing.

    is_checked: what was reported before is still there, as far as its manifest.
    """
    release = wanted_release(plugin_set)
    is_there = is_checked and StoreLayout(folder_of(plugin_set)).manifest.exists()
    if release is None or (is_there and _has_it(node, release)):
        return
    rows = list(release.plugins.select_related("artifact", "fallback").order_by("name"))
    requests = [_request(row, artifact, store) for row in rows if (artifact := usable_artifact(row))]
    options = InstallOptions(InstallMode.BEST_EFFORT, limits())
    try:
        done = install(folder_of(plugin_set), requests, now=now, options=options, progress=_reach_step)
    except (PluginStoreError, OSError) as error:
        report(node, release, InstallationState.PENDING, plugins={}, message=str(error))
        return
    _report(node, release, rows, done)
    reach("installation reported")


def _reach_step(step: Step, _plugin: str) -> None:
    reach(f"plugins {step}")


def usable_artifact(row: ReleasedPlugin) -> PluginArtifact | None:
    """Return what a plugin runs as: its own artifact, or that of the release before while it has none."""
    return row.artifact or row.fallback


def folder_of(plugin_set: PluginSet) -> Path:
    """Return the store of a set on this node. Ids cannot be renamed, and lead nowhere else."""
    return Path(settings.PLUGIN_ROOT) / (str(plugin_set.team_id) if plugin_set.team_id else "platform")


def _has_it(node: str, release: PluginRelease) -> bool:
    state = InstallationState.ACTIVE if release.state == ReleaseState.ACTIVE else InstallationState.VERIFIED
    states = (state, InstallationState.DEGRADED)
    return release.installations.filter(
        node_id=node, lock_revision__gte=release.lock_revision, state__in=states
    ).exists()


def _request(row: ReleasedPlugin, artifact: PluginArtifact, store: ContentStore) -> PluginRequest:
    return PluginRequest(
        name=row.name,
        provider=row.provider,
        file_name=artifact.file_name,
        source=StoredArchive(store, artifact.sha256, artifact.size),
        version=artifact.version or None,
        checksum=Checksum("sha256", artifact.sha256),
        tree=artifact.tree,
        size=artifact.size,
    )


def _report(node: str, release: PluginRelease, rows: list[ReleasedPlugin], done: InstallReport) -> None:
    installed = {plugin.name: plugin for plugin in done.generation.plugins}
    plugins = {
        row.name: {
            "state": "degraded" if row.problem or row.name in done.failures else "active",
            "version": installed[row.name].version if row.name in installed else "",
            "sha256": installed[row.name].sha256 if row.name in installed else "",
            "problem": done.failures.get(row.name, row.problem)[:500],
        }
        for row in rows
    }
    if done.failures:
        # Tried again at the next tick: this node does not have the release.
        name, problem = next(iter(sorted(done.failures.items())))
        report(node, release, InstallationState.PENDING, plugins=plugins, message=f"{name}: {problem}")
        return
    is_degraded = any(plugin["state"] == "degraded" for plugin in plugins.values())
    is_active = release.state == ReleaseState.ACTIVE
    state = InstallationState.ACTIVE if is_active else InstallationState.VERIFIED
    report(node, release, InstallationState.DEGRADED if is_degraded else state, plugins=plugins)
