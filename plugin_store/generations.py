"""The active generation for readers, and the switch to another one for writers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from plugin_store.digests import damaged_store, read_tree, tree_digest
from plugin_store.durable_files import read_file, replace_file
from plugin_store.errors import StoreDamaged
from plugin_store.manifest import Generation, Manifest, read_manifest, write_manifest
from plugin_store.store_layout import StoreLayout
from plugin_store.store_lock import exclusive

LOCK_SECONDS = 60.0


def load_manifest(root: Path) -> Manifest:
    """The manifest of a store; an empty one before the first installation."""
    content = read_file(StoreLayout(root).manifest)
    return Manifest() if content is None else read_manifest(content)


def save_manifest(
    layout: StoreLayout, manifest: Manifest, *, before_replacing: Callable[[], None] = lambda: None
) -> None:
    """Replace the manifest. This is the only write that changes what readers see."""
    replace_file(
        layout.manifest,
        write_manifest(manifest),
        scratch=layout.staging,
        before_replacing=before_replacing,
    )


def active_folders(root: Path) -> dict[str, Path]:
    """The folders of the active plugins by name: those of one generation, whatever is installed meanwhile."""
    layout = StoreLayout(root)
    return {plugin.name: layout.folder(plugin.folder) for plugin in load_manifest(root).current.plugins}


def is_intact(layout: StoreLayout, folder: str, tree: str) -> bool:
    """Whether a folder has exactly the files that were installed."""
    path = layout.folder(folder)
    if path.is_symlink() or path.parent.is_symlink():
        return False
    try:
        return tree_digest(read_tree(path)) == tree
    except StoreDamaged:
        return False


def damaged_plugins(root: Path) -> frozenset[str]:
    """The names of active plugins whose files are no longer those that were installed."""
    layout = StoreLayout(root)
    return frozenset(
        plugin.name
        for plugin in load_manifest(root).current.plugins
        if not is_intact(layout, plugin.folder, plugin.tree)
    )


def roll_back(root: Path, number: int | None = None, *, lock_seconds: float = LOCK_SECONDS) -> Generation:
    """Make an older generation active, after its folders were compared with what was installed."""
    layout = StoreLayout(root)
    layout.make()
    with exclusive(layout.lock, timeout=lock_seconds):
        manifest = load_manifest(root).roll_back(number)
        for plugin in manifest.current.plugins:
            if not is_intact(layout, plugin.folder, plugin.tree):
                raise damaged_store(layout.folder(plugin.folder), "Its files have changed since.")
        save_manifest(layout, manifest)
    return manifest.current
