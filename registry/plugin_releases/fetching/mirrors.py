"""The mirror of an installation: archives by SHA-256, which are looked for before their providers."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from django.conf import settings

from controlplane.downloads import DownloadTerms, download
from controlplane.errors import InvalidRequest, RemoteFailed, UnknownPluginArtifact
from controlplane.outgoing import EVERYWHERE
from registry.plugin_releases.content_store import ContentStore, FolderStore, RemoteStore, place_of

_log = logging.getLogger(__name__)
_CHUNK = 1024 * 1024
_IDLE_SECONDS = 5.0
# A mirror that is down would hold back every archive.
_PAUSE_SECONDS = 60.0


class _Place(Protocol):
    """Copies an archive, and returns its address. Raises UnknownPluginArtifact, RemoteFailed, OSError."""

    def __call__(self, sha256: str, target: Path, max_bytes: int) -> str: ...


class Mirror:
    """Gives what it has. Whatever is wrong with it, archives come from their providers instead."""

    def __init__(self, copy: _Place, clock: Callable[[], float] = time.monotonic) -> None:
        self._copy, self._clock, self._resumes_at = copy, clock, 0.0

    def fetch(self, sha256: str, target: Path, *, max_bytes: int) -> str:
        """Write the archive to the target, and return its address; empty if the mirror cannot give it."""
        if self._clock() < self._resumes_at:
            return ""
        try:
            address = self._copy(sha256, target, max_bytes)
        except UnknownPluginArtifact:
            return ""
        except Exception as error:  # fsspec's file systems raise errors of their own
            self._resumes_at = self._clock() + _PAUSE_SECONDS
            _log.warning("plugin_mirror_failed", extra={"problem": str(error)[:500]})
            return ""
        if _digest(target) == sha256:
            return address
        _log.warning("plugin_mirror_damaged", extra={"sha256": sha256})
        return ""


def configured_mirror() -> Mirror | None:
    """Return the mirror that PLUGIN_MIRROR names."""
    return _mirror(str(settings.PLUGIN_MIRROR)) if settings.PLUGIN_MIRROR else None


@lru_cache(maxsize=4)
def _mirror(place: str) -> Mirror:
    if place.startswith(("https://", "http://")):
        return Mirror(_WebPlace(place.rstrip("/")))
    return Mirror(_StorePlace(RemoteStore(place) if "://" in place else FolderStore(Path(place)), place))


class _WebPlace:
    """A mirror on a web server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, sha256: str, target: Path, max_bytes: int) -> str:
        address = f"{self.url}/{place_of(sha256)}"
        # The operator chose the address, which is usually a private one.
        terms = DownloadTerms(idle_seconds=_IDLE_SECONDS, retries=1, max_bytes=max_bytes, networks=EVERYWHERE)
        try:
            download(address, target, terms)
        except RemoteFailed as error:
            if error.members.get("status_there") in (403, 404, 410):
                raise UnknownPluginArtifact("The mirror does not have it.") from error
            raise
        except InvalidRequest as error:
            raise RemoteFailed(error.detail) from error
        return address


class _StorePlace:
    """A mirror in a folder or a bucket."""

    def __init__(self, store: ContentStore, place: str) -> None:
        self.store, self.place = store, place.rstrip("/")

    def __call__(self, sha256: str, target: Path, max_bytes: int) -> str:
        with self.store.open(sha256) as archive, target.open("wb") as copy:
            while chunk := archive.read(_CHUNK):
                copy.write(chunk)
                if copy.tell() > max_bytes:
                    raise RemoteFailed(f"The archive {sha256[:12]} has more than {max_bytes:,} bytes.")
        return f"{self.place}/{place_of(sha256)}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
