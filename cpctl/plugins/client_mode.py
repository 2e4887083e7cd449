"""Installs a server's plugins in a folder of this machine: exactly those of a lock, all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from cpctl.errors import Conflicting
from cpctl.plugins.archives import ArchiveOrigin, LockText, archive_of, file_name_of, source_of
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


def install_client(request: ClientInstallation, downloader: Downloader, progress: Progress) -> Outcome:
    """Install the plugins. A second run finds nothing to do; one that was killed is completed."""
    folder = request.folder
    with as_command_errors():
        check_origin(folder, folder.origin(), server=request.origin.server, team=request.team)
        if request.is_dry_run:
            folder.check()
            return _preview(request)
        folder.make()
        with exclusive(folder.run_lock, timeout=_WAIT_SECONDS):
            return _install(request, downloader, progress)


def _preview(request: ClientInstallation) -> Outcome:
    lock = read_lock(_lock(request, request.folder.origin()).text)
    plan = _plan(request.folder, lock)
    changed = {*plan.added, *plan.changed}
    return Outcome(
        request.folder.root,
        load_manifest(request.folder.root).active,
        installed=tuple(sorted(changed)),
        removed=plan.removed,
        unchanged=tuple(plugin.name for plugin in lock.plugins if plugin.name not in changed),
        downloaded=plan.bytes,
    )


def _install(request: ClientInstallation, downloader: Downloader, progress: Progress) -> Outcome:
    folder = request.folder
    before = folder.origin()
    served = _lock(request, before)
    lock = read_lock(served.text)
    plan = _plan(folder, lock)
    progress.event(
        "planned", "", missing=len(plan.missing), bytes=plan.bytes, lock_unchanged=served.is_unchanged
    )
    outcome = (
        _current(folder, lock) if plan.is_current else _switch(request, lock, plan, downloader, progress)
    )
    # A mirror has no address of its own: the folder stays that of its server.
    server = request.origin.server or (before.server if before else "")
    folder.remember(Origin(server, request.team, served.etag, served.text.decode()))
    if not outcome.failures:
        for path in folder.downloads.iterdir():
            remove(path)
    return outcome


def _lock(request: ClientInstallation, origin: Origin | None) -> LockText:
    """Return the lock to install. Raises Conflicting if it must match a file and does not."""
    if request.lock_file and not request.must_match:
        return LockText(read_lock_file(request.lock_file))
    is_same = origin is not None and (origin.server, origin.team) == (request.origin.server, request.team)
    served = request.origin.lock(LockText(origin.lock.encode(), origin.etag) if origin and is_same else None)
    if request.lock_file:
        written = read_lock(read_lock_file(request.lock_file))
        if lines := lock_differences(written, read_lock(served.text)):
            raise Conflicting(
                f"Nothing was installed, because {request.lock_file} and the lock of"
                f" {request.origin.server or 'the mirror'} differ: {'; '.join(lines)}.",
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
    request: ClientInstallation,
    lock: LockDocument,
    plan: InstallationPlan,
    downloader: Downloader,
    progress: Progress,
) -> Outcome:
    """Fetch what is missing, then make all plugins active by one write."""
    downloads, origin = request.folder.downloads, request.origin
    remote = [plugin for plugin in plan.missing if not origin.local_file(plugin)]
    errors = fetch_all(origin, remote, lambda plugin: downloads / plugin.sha256, downloader, progress)
    if not request.is_best_effort:
        raise_failures(errors, {plugin.sha256: plugin.name for plugin in remote}, "Nothing was installed")

    def fetch(plugin: LockedPlugin) -> None:
        if error := errors.get(plugin.sha256):
            raise error
        downloader.fetch(archive_of(origin, plugin), downloads / plugin.sha256)

    report = install(
        request.folder.root,
        [_request(origin, plugin, downloads, fetch) for plugin in lock.plugins],
        now=datetime.now(UTC),
        options=InstallOptions(InstallMode.BEST_EFFORT if request.is_best_effort else InstallMode.STRICT),
    )
    fetched = {plugin.sha256: plugin.size for plugin in remote if plugin.sha256 not in errors}
    return _outcome(request.folder, report, sum(fetched.values()))


def _request(
    origin: ArchiveOrigin, plugin: LockedPlugin, downloads: Path, fetch: Callable[[LockedPlugin], None]
) -> PluginRequest:
    return PluginRequest(
        name=plugin.name,
        provider=plugin.provider,
        file_name=file_name_of(plugin, origin.local_file(plugin) or downloads / plugin.sha256),
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
