"""Installs a set of plugins: each is prepared beside the store, then one write of the manifest switches all.

The order makes every crash harmless. Folders are named in the manifest before they are placed, and readers
see them only after the switch; what was interrupted before is removed or used by the next run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from plugin_store.durable_files import flush_folder, make_folder
from plugin_store.errors import InstallationFailed, InvalidName, PluginStoreError
from plugin_store.generations import load_manifest, save_manifest
from plugin_store.manifest import InstalledPlugin, Manifest, PluginState, StoredFolder
from plugin_store.plugin_requests import InstallMode, InstallOptions, InstallReport, PluginRequest
from plugin_store.progress import Progress, Step, ignore_progress
from plugin_store.staging import PreparedPlugin, Staging
from plugin_store.store_layout import StoreLayout, remove
from plugin_store.store_lock import exclusive

_DEFAULT_OPTIONS = InstallOptions()


def install(
    root: Path,
    requests: Sequence[PluginRequest],
    *,
    now: datetime,
    options: InstallOptions = _DEFAULT_OPTIONS,
    progress: Progress = ignore_progress,
) -> InstallReport:
    """Make exactly these plugins the active ones. Plugins that no request names are no longer active.

    Raises StoreBusy, InvalidDocument, StoreDamaged, and in strict mode InstallationFailed.
    """
    _refuse_duplicates(requests)
    layout = StoreLayout(root)
    layout.make()
    with exclusive(layout.lock, timeout=options.lock_seconds):
        progress(Step.LOCKED, "")
        layout.sweep_staging()
        manifest = load_manifest(root)
        staging = Staging(layout, manifest, options, now, progress)
        try:
            prepared = _prepare_all(staging, requests)
            return _activate(staging, prepared)
        finally:
            layout.sweep_staging()


@dataclass(slots=True)
class _Prepared:
    """The plugins that can be placed, and why the others failed."""

    plugins: dict[str, PreparedPlugin] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


def _prepare_all(staging: Staging, requests: Sequence[PluginRequest]) -> _Prepared:
    prepared = _Prepared()
    for request in requests:
        try:
            prepared.plugins[request.name] = staging.prepare(request)
        except (PluginStoreError, OSError) as error:
            prepared.failures[request.name] = str(error)
    if prepared.failures and staging.options.mode is InstallMode.STRICT:
        raise InstallationFailed(prepared.failures)
    return prepared


def _activate(staging: Staging, prepared: _Prepared) -> InstallReport:
    """Place the folders and switch; without any change, write nothing."""
    manifest, layout = staging.manifest, staging.layout
    plugins = next_plugins(manifest, tuple(prepared.plugins.values()), prepared.failures)
    if plugins != manifest.current.plugins or not manifest.active:
        added = [(item.plugin, item.scratch) for item in prepared.plugins.values() if item.scratch]
        if added:
            manifest = manifest.announce(StoredFolder(plugin.folder, plugin.tree) for plugin, _ in added)
            save_manifest(layout, manifest)
            staging.progress(Step.ANNOUNCED, "")
        for plugin, scratch in added:
            _place(layout, plugin, scratch)
            staging.progress(Step.PLACED, plugin.name)
        manifest = manifest.switch(plugins, created_at=staging.now.isoformat(), keep=staging.options.keep)
        save_manifest(layout, manifest, before_replacing=lambda: staging.progress(Step.MANIFEST_WRITTEN, ""))
        staging.progress(Step.SWITCHED, "")
    return _report(staging.manifest, manifest, prepared)


def next_plugins(
    manifest: Manifest, prepared: Sequence[PreparedPlugin], failures: dict[str, str]
) -> tuple[InstalledPlugin, ...]:
    """The plugins of the next generation: a failed one keeps its previous version and is degraded."""
    plugins = [item.plugin for item in prepared]
    for name, failure in failures.items():
        if previous := manifest.current.plugin(name):
            plugins.append(replace(previous, state=PluginState.DEGRADED, problem=failure))
    return tuple(sorted(plugins, key=lambda plugin: plugin.name))


def _place(layout: StoreLayout, plugin: InstalledPlugin, scratch: Path) -> None:
    """Rename an unpacked folder to its place, unless an interrupted run has done it."""
    target = layout.folder(plugin.folder)
    make_folder(target.parent)
    if target.exists():
        remove(scratch)
        return
    os.rename(scratch, target)
    flush_folder(target.parent)


def _report(before: Manifest, after: Manifest, prepared: _Prepared) -> InstallReport:
    old = {plugin.name: plugin for plugin in before.current.plugins}
    new = {plugin.name: plugin for plugin in after.current.plugins}
    unchanged = {name for name in new if name in old and old[name].folder == new[name].folder}
    return InstallReport(
        generation=after.current,
        installed=tuple(sorted(new.keys() - unchanged)),
        unchanged=tuple(sorted(unchanged - prepared.failures.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        failures=prepared.failures,
        warnings={name: item.warning for name, item in prepared.plugins.items() if item.warning},
    )


def _refuse_duplicates(requests: Sequence[PluginRequest]) -> None:
    names = Counter(request.name for request in requests)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise InvalidName(
            f"The plugin {repeated[0]!r} is requested twice.",
            why="Each plugin has one version at a time.",
            advice="Remove one of the requests, or give it another name.",
        )
