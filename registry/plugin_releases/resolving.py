"""Fetches the archives of releases. One installer at a time holds the lease of a release.

Threads fetch; the rows are written by the installer's own thread, from `step`. A slow provider therefore
holds back neither other plugins nor other releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from controlplane.identity.actors import Actor
from controlplane.messaging.failpoints import reach
from plugin_store.limits import Limits
from registry.plugin_releases import event_types
from registry.plugin_releases.content_store import ContentStore, content_store
from registry.plugin_releases.fetching.artifacts import (
    FetchedArtifact,
    FetchFailed,
    FetchRequest,
    fetch_artifact,
)
from registry.plugin_releases.fetching.credentials import repositories_of
from registry.plugin_releases.fetching.fetcher import Repository
from registry.plugin_releases.models import PluginArtifact, PluginRelease, ReleasedPlugin, ReleaseState
from registry.plugin_releases.readiness import FetchProgress, is_ready, retry_delay
from registry.plugin_releases.release_changes import configuration_of, record
from registry.plugins.documents.content import Configuration

LEASE = timedelta(seconds=30)
# Of one provider: it gets no more requests at once, and holds no more threads if it hangs.
_AT_ONCE = 4
_LATE = "The provider has not sent the archive yet. It is still being fetched."
_UNFINISHED = (ReleaseState.RESOLVING, ReleaseState.READY, ReleaseState.ACTIVE)


class Resolver:
    """Fetches for one installer. Its futures die with the process; its rows do not."""

    def __init__(self, node: str, actor: Actor, *, server_version: str) -> None:
        self.node, self.actor, self.server_version = node, actor, server_version
        self.store: ContentStore = content_store()
        self._pools: dict[tuple[UUID, str], ThreadPoolExecutor] = {}
        self._running: dict[UUID, Future[FetchedArtifact]] = {}
        self._bytes: dict[UUID, list[int]] = {}

    def step(self) -> None:
        """Take what has arrived, begin what is due, and decide which releases are ready."""
        for release in self._claimed():
            self._take_results(release)
            self._begin(release)
            _decide(release, self.actor)

    def close(self) -> None:
        """Leave: what is being fetched is fetched again by another installer."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def is_fetching(self) -> bool:
        """Whether threads are at work."""
        return any(future.running() for future in self._running.values())

    def _claimed(self) -> Iterator[PluginRelease]:
        with transaction.atomic():
            ids = list(_due(self.node).values_list("id", flat=True)[:50])
            PluginRelease.objects.filter(id__in=ids).exclude(leased_by=self.node).update(
                lease_epoch=F("lease_epoch") + 1
            )
            PluginRelease.objects.filter(id__in=ids).update(leased_by=self.node, leased_until=Now() + LEASE)
        rows = PluginRelease.objects.select_related("plugin_set__team", "config")
        reach("plugins claimed")
        yield from rows.filter(id__in=ids, leased_by=self.node)

    def _begin(self, release: PluginRelease) -> None:
        due = [row for row in _missing(release) if row.id not in self._running and _is_due(row)]
        if not due:
            return
        configuration = configuration_of(release.config.document)
        repositories = repositories_of(release.plugin_set, configuration)
        for row in due:
            self._fetch(release, row, configuration, repositories[row.provider])

    def _fetch(
        self,
        release: PluginRelease,
        row: ReleasedPlugin,
        configuration: Configuration,
        repository: Repository | str,
    ) -> None:
        if isinstance(repository, str):
            _note_failure(release, row, repository, self.actor)
            return
        entry = next(entry for entry in configuration.plugins if entry.output == row.name)
        request = FetchRequest(repository, entry, limits(), self.server_version)
        counted = self._bytes.setdefault(row.id, [0])
        pool = self._pool(release.plugin_set_id, row.provider)
        self._running[row.id] = pool.submit(fetch_artifact, request, self.store, _counter(counted))

    def _pool(self, plugin_set: UUID, provider: str) -> ThreadPoolExecutor:
        key = (plugin_set, provider)
        if key not in self._pools:
            self._pools[key] = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix=f"plugins-{provider}")
        return self._pools[key]

    def _take_results(self, release: PluginRelease) -> None:
        for row in _missing(release):
            future = self._running.get(row.id)
            if future is None or not future.done():
                continue
            del self._running[row.id]
            downloaded = self._bytes.pop(row.id, [0])[0]
            try:
                _note_artifact(release, row, future.result(), downloaded)
            except FetchFailed as error:
                _note_failure(release, row, str(error), self.actor)


def limits() -> Limits:
    """Return what an archive may use, by the settings."""
    return Limits(
        archive_bytes=settings.PLUGIN_MAX_BYTES,
        total_bytes=settings.PLUGIN_MAX_BYTES,
        entries=settings.PLUGIN_MAX_ENTRIES,
    )


def _counter(counted: list[int]) -> Callable[[int], None]:
    def count(number: int) -> None:
        counted[0] += number

    return count


def _due(node: str) -> QuerySet[PluginRelease]:
    """Return releases that miss archives, or wait to be ready, and that no other installer holds."""
    missing = ReleasedPlugin.objects.filter(release=OuterRef("pk"), artifact=None)
    free = Q(leased_until=None) | Q(leased_until__lt=Now()) | Q(leased_by=node)
    rows = PluginRelease.objects.filter(free, state__in=_UNFINISHED)
    return (
        rows.filter(Q(state=ReleaseState.RESOLVING) | Exists(missing))
        .select_for_update(skip_locked=True)
        .order_by("id")
    )


def _missing(release: PluginRelease) -> list[ReleasedPlugin]:
    rows = release.plugins.filter(artifact=None).annotate(
        is_due=Q(next_try_at=None) | Q(next_try_at__lte=Now())
    )
    return list(rows.order_by("name"))


def _is_due(row: ReleasedPlugin) -> bool:
    return bool(row.is_due)  # type: ignore[attr-defined]  # annotated by _missing


@transaction.atomic
def _note_artifact(
    release: PluginRelease, row: ReleasedPlugin, fetched: FetchedArtifact, downloaded: int
) -> None:
    if not _still_holds(release):
        return
    specification = fetched.specification
    artifact, _ = PluginArtifact.objects.get_or_create(
        plugin_set_id=release.plugin_set_id,
        sha256=fetched.sha256,
        file_name=fetched.file_name,
        defaults={
            "tree": fetched.tree,
            "size": fetched.size,
            "url": fetched.url[:2000],
            "version": specification.version if specification else "",
            "spec": specification.text if specification else None,
            "signature": {"method": "ed25519", "key": fetched.signed_by} if fetched.signed_by else None,
        },
    )
    reach("artifact noted")
    was_late = release.state != ReleaseState.RESOLVING
    ReleasedPlugin.objects.filter(id=row.id).update(
        artifact=artifact, problem="", next_try_at=None, changed_at=Now()
    )
    PluginRelease.objects.filter(id=release.id).update(
        downloaded=F("downloaded") + downloaded,
        lock_revision=F("lock_revision") + (1 if was_late else 0),
        last_arrival_at=Now(),
    )
    reach("plugin noted")


@transaction.atomic
def _note_failure(release: PluginRelease, row: ReleasedPlugin, problem: str, actor: Actor) -> None:
    if not _still_holds(release):
        return
    attempts = row.attempts + 1
    ReleasedPlugin.objects.filter(id=row.id).update(
        problem=problem[:500],
        attempts=attempts,
        next_try_at=Now() + retry_delay(attempts),
        changed_at=Now(),
    )
    if problem[:500] != row.problem:
        record(event_types.RELEASE_DEGRADED, release, actor, plugin=row.name, problem=problem[:500])


def _still_holds(release: PluginRelease) -> bool:
    """Whether the release is still held by this installer, locked until the transaction ends."""
    rows = PluginRelease.objects.select_for_update(no_key=True).filter(
        id=release.id, lease_epoch=release.lease_epoch, state__in=_UNFINISHED
    )
    return rows.exists()


@transaction.atomic
def _decide(release: PluginRelease, actor: Actor) -> None:
    """Have nodes install the release, once enough of it is there."""
    if release.state != ReleaseState.RESOLVING or not _still_holds(release):
        return
    plugins = [
        FetchProgress(row.artifact_id is not None, bool(row.problem), row.fallback_id is not None)
        for row in release.plugins.all()
    ]
    quiet = PluginRelease.objects.annotate(quiet=Now() - F("last_arrival_at")).get(id=release.id).quiet
    if not is_ready(plugins, quiet, timedelta(seconds=settings.PLUGIN_FETCH_GRACE_SECONDS)):
        return
    for row in release.plugins.filter(artifact=None, problem=""):
        release.plugins.filter(id=row.id).update(problem=_LATE)
        record(event_types.RELEASE_DEGRADED, release, actor, plugin=row.name, problem=_LATE)
    release.state, release.ready_at = ReleaseState.READY, Now()
    release.save(update_fields=["state", "ready_at"])
    release.refresh_from_db()
    reach("release ready")
    record(event_types.RELEASE_READY, release, actor)
