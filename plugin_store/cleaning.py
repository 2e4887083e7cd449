"""Removes folders that the store wrote and nothing uses; files of others are reported and stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from plugin_store.generations import LOCK_SECONDS, is_intact, load_manifest, save_manifest
from plugin_store.lock_document import LockDocument
from plugin_store.manifest import Manifest, StoredFolder
from plugin_store.names import folder_of
from plugin_store.store_layout import StoreLayout, is_scratch
from plugin_store.store_lock import exclusive


class CleaningScope(StrEnum):
    """What to remove: what no generation uses, or everything."""

    UNUSED = "unused"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class CleaningReport:
    """Folders that were removed, or would be; folders with changed files, and foreign paths, which stay."""

    removed: tuple[str, ...]
    changed: tuple[str, ...]
    foreign: tuple[str, ...]


def removable(
    manifest: Manifest, lock: LockDocument | None, scope: CleaningScope
) -> tuple[StoredFolder, ...]:
    """The folders that may be removed, named by the manifest or, where the manifest is lost, by the lock."""
    folders = {item.folder: item for item in manifest.unused}
    if scope is CleaningScope.ALL:
        folders |= manifest.folders()
        for plugin in lock.plugins if lock else ():
            folder = folder_of(plugin.name, plugin.version, plugin.sha256)
            folders.setdefault(folder, StoredFolder(folder, plugin.tree))
    return tuple(folders[name] for name in sorted(folders))


def clean(
    root: Path,
    *,
    scope: CleaningScope = CleaningScope.UNUSED,
    lock: LockDocument | None = None,
    is_dry_run: bool = False,
    lock_seconds: float = LOCK_SECONDS,
) -> CleaningReport:
    """Remove folders from a store. The store's lock file stays: another process may wait for it."""
    layout = StoreLayout(root)
    if not layout.folders.is_dir():
        return CleaningReport((), (), ())
    layout.make()
    with exclusive(layout.lock, timeout=lock_seconds):
        manifest = load_manifest(root)
        candidates = [
            item for item in removable(manifest, lock, scope) if layout.folder(item.folder).exists()
        ]
        intact = [item for item in candidates if is_intact(layout, item.folder, item.tree)]
        report = CleaningReport(
            removed=tuple(item.folder for item in intact),
            changed=tuple(item.folder for item in candidates if item not in intact),
            foreign=_foreign(layout, manifest, lock),
        )
        if not is_dry_run:
            _remove(layout, manifest, report, scope)
    return report


def _remove(layout: StoreLayout, manifest: Manifest, report: CleaningReport, scope: CleaningScope) -> None:
    layout.sweep_staging()
    if scope is CleaningScope.ALL:
        # First, so that no reader finds a plugin whose folder is being removed.
        manifest = Manifest(unused=removable(manifest, None, CleaningScope.ALL))
        save_manifest(layout, manifest)
    for folder in report.removed:
        layout.discard(layout.folder(folder))
    gone = [item.folder for item in manifest.unused if not layout.folder(item.folder).exists()]
    save_manifest(layout, manifest.forget(gone))
    for parent in {layout.folder(folder).parent for folder in report.removed}:
        if not any(parent.iterdir()):
            parent.rmdir()


def _foreign(layout: StoreLayout, manifest: Manifest, lock: LockDocument | None) -> tuple[str, ...]:
    """Every path of the root that the store did not write, relative to it."""
    named = {item.folder for item in removable(manifest, lock, CleaningScope.ALL)}
    parents = {folder.partition("/")[0] for folder in named}
    own = {layout.manifest, layout.folders, layout.staging, layout.lock}
    paths = [path for path in layout.root.iterdir() if path not in own]
    paths += [path for path in layout.staging.iterdir() if not is_scratch(path)]
    for parent in layout.folders.iterdir():
        paths += [parent] if parent.name not in parents else _unnamed(parent, layout.folders, named)
    return tuple(sorted(path.relative_to(layout.root).as_posix() for path in paths))


def _unnamed(parent: Path, folders: Path, named: Iterable[str]) -> list[Path]:
    return [path for path in parent.iterdir() if path.relative_to(folders).as_posix() not in named]
