"""Installs a server's plugins in a folder of this machine: exactly those of a lock, all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cpctl.errors import Conflicting
from cpctl.plugins.archives import ArchiveOrigin, LockText, archive_of, source_of
from cpctl.plugins.downloads import Downloader
from cpctl.plugins.folders import ClientFolder, Origin, check_origin
from cpctl.plugins.installation_plan import InstallationPlan, plan_installation
from cpctl.plugins.locks import lock_differences, read_lock_file
from cpctl.plugins.parallel import fetch_all, raise_failures
from cpctl.plugins.progress import Progress
from cpctl.plugins.store_errors import as_command_errors
from plugin_store.digests import Checksum
from plugin_store.generations import is_intact, load_manifest
from plugin_store.installation import install
from plugin_store.lock_document import LockDocument, LockedPlugin, read_lock
from plugin_store.plugin_requests import InstallMode, InstallOptions, InstallReport, PluginRequest
from plugin_store.store_layout import StoreLayout, remove
from plugin_store.store_lock import exclusive

_WAIT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class ClientInstallation:
    """What to install. lock_file: installed instead of the origin's lock; must_match: compared with it."""

    origin: ArchiveOrigin
    team: str
    folder: ClientFolder
    lock_file: Path | None = None
    must_match: bool = False
    is_best_effort: bool = False
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done, or would be. downloaded: bytes of the archives that were fetched."""

    folder: Path
    generation: int
    installed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    downloaded: int = 0
    failures: dict[str, str] = field(default_factory=dict)


def install_client(wanted: ClientInstallation, downloader: Downloader, progress: Progress) -> Outcome:
    """Install the plugins. A second run finds nothing to do; one that was killed is completed."""
    folder = wanted.folder
    with as_command_errors():
        check_origin(folder, folder.origin(), server=wanted.origin.server, team=wanted.team)
        if wanted.is_dry_run:
            folder.check()
            return _preview(wanted)
        folder.make()
        with exclusive(folder.run_lock, timeout=_WAIT_SECONDS):
            return _install(wanted, downloader, progress)


def _preview(wanted: ClientInstallation) -> Outcome:
    lock = read_lock(_lock(wanted, wanted.folder.origin()).text)
    plan = _plan(wanted.folder, lock)
    changed = {*plan.added, *plan.changed}
    return Outcome(
        wanted.folder.root,
        load_manifest(wanted.folder.root).active,
        installed=tuple(sorted(changed)),
        removed=plan.removed,
        unchanged=tuple(plugin.name for plugin in lock.plugins if plugin.name not in changed),
        downloaded=plan.bytes,
    )


def _install(wanted: ClientInstallation, downloader: Downloader, progress: Progress) -> Outcome:
    folder = wanted.folder
    served = _lock(wanted, folder.origin())
    lock = read_lock(served.text)
    plan = _plan(folder, lock)
    progress.event(
        "planned", "", missing=len(plan.missing), bytes=plan.bytes, lock_unchanged=served.is_unchanged
    )
    outcome = _current(folder, lock) if plan.is_current else _switch(wanted, lock, plan, downloader, progress)
    folder.remember(Origin(wanted.origin.server, wanted.team, served.etag, served.text.decode()))
    if not outcome.failures:
        for path in folder.downloads.iterdir():
            remove(path)
    return outcome


def _lock(wanted: ClientInstallation, origin: Origin | None) -> LockText:
    """Return the lock to install. Raises Conflicting if it must match a file and does not."""
    if wanted.lock_file and not wanted.must_match:
        return LockText(read_lock_file(wanted.lock_file))
    is_same = origin is not None and (origin.server, origin.team) == (wanted.origin.server, wanted.team)
    served = wanted.origin.lock(LockText(origin.lock.encode(), origin.etag) if origin and is_same else None)
    if wanted.lock_file:
        written = read_lock(read_lock_file(wanted.lock_file))
        if lines := lock_differences(written, read_lock(served.text)):
            raise Conflicting(
                f"Nothing was installed, because {wanted.lock_file} and the lock of"
                f" {wanted.origin.server or 'the mirror'} differ: {'; '.join(lines)}.",
                hint="review it, and update the file with cpctl plugins lock --upgrade",
            )
    return served


def _plan(folder: ClientFolder, lock: LockDocument) -> InstallationPlan:
    layout = StoreLayout(folder.root)
    return plan_installation(
        lock, load_manifest(folder.root), lambda plugin: is_intact(layout, plugin.folder, plugin.tree)
    )


def _current(folder: ClientFolder, lock: LockDocument) -> Outcome:
    names = tuple(plugin.name for plugin in lock.plugins)
    return Outcome(folder.root, load_manifest(folder.root).active, unchanged=names)


def _switch(
    wanted: ClientInstallation,
    lock: LockDocument,
    plan: InstallationPlan,
    downloader: Downloader,
    progress: Progress,
) -> Outcome:
    """Fetch what is missing, then make all plugins active by one write."""
    downloads, origin = wanted.folder.downloads, wanted.origin
    remote = [plugin for plugin in plan.missing if not origin.local_file(plugin)]
    errors = fetch_all(origin, remote, lambda plugin: downloads / plugin.sha256, downloader, progress)
    if not wanted.is_best_effort:
        raise_failures(errors, {plugin.sha256: plugin.name for plugin in remote}, "Nothing was installed")

    def fetch(plugin: LockedPlugin) -> None:
        if error := errors.get(plugin.sha256):
            raise error
        downloader.fetch(archive_of(origin, plugin), downloads / plugin.sha256)

    report = install(
        wanted.folder.root,
        [_request(origin, plugin, downloads, fetch) for plugin in lock.plugins],
        now=datetime.now(UTC),
        options=InstallOptions(InstallMode.BEST_EFFORT if wanted.is_best_effort else InstallMode.STRICT),
    )
    fetched = {plugin.sha256: plugin.size for plugin in remote if plugin.sha256 not in errors}
    return _outcome(wanted.folder, report, sum(fetched.values()))


def _request(
    origin: ArchiveOrigin, plugin: LockedPlugin, downloads: Path, fetch: Callable[[LockedPlugin], None]
) -> PluginRequest:
    return PluginRequest(
        name=plugin.name,
        provider=plugin.provider,
        # Its suffix says how to unpack it.
        file_name=unquote(urlsplit(plugin.url).path).rpartition("/")[2],
        source=source_of(origin, plugin, downloads, fetch),
        version=plugin.version,
        checksum=Checksum("sha256", plugin.sha256),
        tree=plugin.tree,
        size=plugin.size,
    )


def _outcome(folder: ClientFolder, report: InstallReport, downloaded: int) -> Outcome:
    return Outcome(
        folder.root,
        report.generation.number,
        report.installed,
        report.removed,
        report.unchanged,
        downloaded,
        report.failures,
    )
