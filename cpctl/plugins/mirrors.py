"""Writes a mirror: the archives of a lock by their digest, then the lock."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cpctl.plugins.archives import ArchiveOrigin, lock_name, place_of
from cpctl.plugins.downloads import Downloader
from cpctl.plugins.locks import write_file
from cpctl.plugins.parallel import fetch_all, raise_failures
from cpctl.plugins.progress import Progress
from cpctl.plugins.store_errors import as_command_errors
from plugin_store.lock_document import LockedPlugin, read_lock, write_lock


@dataclass(frozen=True, slots=True)
class MirroredLock:
    """The lock of a team, or of the platform, as the server wrote it."""

    team: str
    text: bytes


@dataclass(frozen=True, slots=True)
class MirrorOutcome:
    """What a mirror has now. downloaded: archives that were fetched in this run."""

    folder: Path
    plugins: int
    downloaded: int
    bytes: int


def write_mirror(
    folder: Path,
    origin: ArchiveOrigin,
    locked: MirroredLock,
    downloader: Downloader,
    progress: Progress,
) -> MirrorOutcome:
    """Complete a mirror. Archives that are there and intact are not fetched again.

    The lock is written last: a mirror that has it has all of its archives.
    """
    with as_command_errors():
        lock = read_lock(locked.text)
        plugins = lock.plugins

        def target(plugin: LockedPlugin) -> Path:
            return folder / place_of(plugin.sha256)

        for plugin in plugins:
            target(plugin).parent.mkdir(parents=True, exist_ok=True)
            if not is_mirrored(target(plugin), plugin.sha256):
                target(plugin).unlink(missing_ok=True)
        missing = {plugin.sha256: plugin for plugin in plugins if not target(plugin).exists()}
        errors = fetch_all(origin, missing.values(), target, downloader, progress)
        names = {plugin.sha256: plugin.name for plugin in plugins}
        raise_failures(errors, names, "The mirror is not complete")
        write_file(folder / lock_name(locked.team), write_lock(lock))
        size = sum(plugin.size for plugin in missing.values())
        return MirrorOutcome(folder, len(plugins), len(missing), size)


def is_mirrored(path: Path, sha256: str) -> bool:
    """Whether an archive of a mirror is there and has its digest."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == sha256
    except FileNotFoundError:
        return False
