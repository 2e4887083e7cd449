"""Fetches several archives at once. One that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from cpctl.errors import CpctlError, Failed, TimedOut, Unreachable
from cpctl.plugins.archives import ArchiveOrigin, archive_of
from cpctl.plugins.downloads import Downloader
from cpctl.plugins.progress import Progress
from plugin_store.lock_document import LockedPlugin

WORKERS = 8


def fetch_all(
    origin: ArchiveOrigin,
    plugins: Iterable[LockedPlugin],
    target_of: Callable[[LockedPlugin], Path],
    downloader: Downloader,
    progress: Progress,
) -> dict[str, CpctlError]:
    """Fetch archives that are not there yet, each digest once. Return the errors by digest."""
    archives = {plugin.sha256: plugin for plugin in plugins if not target_of(plugin).exists()}
    progress.expect(sum(plugin.size for plugin in archives.values()))
    failures: dict[str, CpctlError] = {}
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="download")
    try:
        futures: dict[Future[None], LockedPlugin] = {
            pool.submit(downloader.fetch, archive_of(origin, plugin), target_of(plugin)): plugin
            for plugin in archives.values()
        }
        for future in as_completed(futures):
            _note(futures[future], future, failures, progress)
    finally:
        downloader.stopped.set()
        pool.shutdown(wait=True, cancel_futures=True)
        downloader.stopped.clear()
        progress.end()
    return failures


def _note(
    plugin: LockedPlugin, future: Future[None], failures: dict[str, CpctlError], progress: Progress
) -> None:
    try:
        future.result()
    except CpctlError as error:
        failures[plugin.sha256] = error
        progress.event("failed", f"{plugin.name}: {error.message}", plugin=plugin.name, problem=error.message)
    else:
        progress.event(
            "downloaded", f"{plugin.name}: {plugin.size:,} bytes", plugin=plugin.name, bytes=plugin.size
        )


def raise_failures(failures: dict[str, CpctlError], names: dict[str, str], what: str) -> None:
    """Raise one error for all archives that were not fetched. names: of plugins, by digest."""
    if not failures:
        return
    reasons = "; ".join(sorted(f"{names[digest]}: {error.message}" for digest, error in failures.items()))
    classes = {type(error) for error in failures.values()}
    cls = next((cls for cls in (Unreachable, TimedOut) if classes == {cls}), Failed)
    first = next(iter(failures.values()))
    raise cls(f"{what}, because {len(failures)} archive(s) were not fetched. {reasons}", hint=first.hint)
