"""What an installation on this machine has to fetch and to change. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plugin_store.lock_document import LockDocument, LockedPlugin
from plugin_store.manifest import InstalledPlugin, Manifest, PluginState
from plugin_store.names import version_of


@dataclass(frozen=True, slots=True)
class InstallationPlan:
    """missing: the plugins whose archives must be fetched. is_current: there is nothing to do."""

    missing: tuple[LockedPlugin, ...]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    is_current: bool

    @property
    def bytes(self) -> int:
        """The bytes to fetch; an archive that two plugins share is fetched once."""
        return sum({plugin.sha256: plugin.size for plugin in self.missing}.values())


def plan_installation(
    lock: LockDocument, manifest: Manifest, is_intact: Callable[[InstalledPlugin], bool]
) -> InstallationPlan:
    """Compare a lock with what is installed. `is_intact` reads the files of an installed plugin."""
    active = {plugin.name: plugin for plugin in manifest.current.plugins}
    locked = {plugin.name: plugin for plugin in lock.plugins}
    missing = tuple(plugin for plugin in lock.plugins if not _is_stored(plugin, manifest, is_intact))
    added = tuple(sorted(locked.keys() - active.keys()))
    removed = tuple(sorted(active.keys() - locked.keys()))
    absent = {plugin.name for plugin in missing}
    changed = tuple(
        name
        for name in sorted(locked.keys() & active.keys())
        if name in absent or differs(locked[name], active[name])
    )
    is_current = not (missing or added or changed or removed) and bool(manifest.active)
    return InstallationPlan(missing, added, changed, removed, is_current)


def _is_stored(
    plugin: LockedPlugin, manifest: Manifest, is_intact: Callable[[InstalledPlugin], bool]
) -> bool:
    """Whether the newest generation that has this archive still has its files."""
    for generation in reversed(manifest.generations):
        stored = generation.plugin(plugin.name)
        if stored and stored.sha256 == plugin.sha256 and stored.tree == plugin.tree:
            return is_intact(stored)
    return False


def differs(plugin: LockedPlugin, installed: InstalledPlugin) -> bool:
    """Whether an active plugin is not the locked one, or is degraded."""
    locked = (version_of(plugin.version, plugin.sha256), plugin.provider, plugin.sha256, plugin.tree)
    actual = (installed.version, installed.provider, installed.sha256, installed.tree)
    return locked != actual or installed.state is not PluginState.ACTIVE


def drift_lines(lock: LockDocument, plugins: Sequence[InstalledPlugin]) -> list[str]:
    """Return how installed plugins differ from a lock, one line each."""
    active = {plugin.name: plugin for plugin in plugins}
    lines = [f"{name}: installed, but not in the lock" for name in active if not _named(lock, name)]
    for plugin in lock.plugins:
        if plugin.name not in active:
            lines.append(f"{plugin.name}: in the lock, but not installed")
        elif differs(plugin, active[plugin.name]):
            lines.append(
                f"{plugin.name}: {active[plugin.name].version} is installed,"
                f" and the lock has {version_of(plugin.version, plugin.sha256)}"
            )
    return sorted(lines)


def _named(lock: LockDocument, name: str) -> bool:
    return any(plugin.name == name for plugin in lock.plugins)
