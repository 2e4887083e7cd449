"""The content store: archives by their SHA-256, on a volume or in a bucket that all nodes reach."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from django.conf import settings

from controlplane.errors import UnknownPluginArtifact
from plugin_store.durable_files import flush_folder

_ASKED_AT_ONCE = 16

_SCRATCH = ".part-"
_ABANDONED_SECONDS = 24 * 3600


class ContentStore(Protocol):
    """Archives by SHA-256. What was stored is never changed, so a reader needs no lock."""

    def put(self, path: Path, sha256: str) -> None:
        """Store a file durably, or nothing if it is there already."""
        ...

    def open(self, sha256: str) -> BinaryIO:
        """Open an archive; it is seekable. Raises UnknownPluginArtifact."""
        ...

    def size(self, sha256: str) -> int:
        """Return its bytes. Raises UnknownPluginArtifact."""
        ...

    def has(self, sha256: str) -> bool: ...


def content_store() -> ContentStore:
    """Return the store that PLUGIN_STORE names: a folder, or a URL of fsspec."""
    place = str(settings.PLUGIN_STORE)
    return RemoteStore(place) if "://" in place else FolderStore(Path(place))


def missing_archives(store: ContentStore, digests: Collection[str]) -> set[str]:
    """Return which of these archives are not there. A bucket is asked for several at once."""
    with ThreadPoolExecutor(_ASKED_AT_ONCE, thread_name_prefix="plugin-store") as pool:
        return {digest for digest, has in zip(digests, pool.map(store.has, digests), strict=True) if not has}


def place_of(sha256: str) -> str:
    """Return where an archive is in a store or mirror. Two characters keep folders small."""
    return f"sha256/{sha256[:2]}/{sha256}"


class FolderStore:
    """A content store in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, path: Path, sha256: str) -> None:
        target = self.root / place_of(sha256)
        if target.exists():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(target.parent)
        with _scratch_file(target.parent) as scratch:
            with path.open("rb") as source, scratch.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1024 * 1024)
                copy.flush()
                os.fsync(copy.fileno())
            os.replace(scratch, target)
        flush_folder(target.parent)

    def open(self, sha256: str) -> BinaryIO:
        try:
            return (self.root / place_of(sha256)).open("rb")
        except FileNotFoundError as error:
            raise _missing(sha256) from error

    def size(self, sha256: str) -> int:
        try:
            return (self.root / place_of(sha256)).stat().st_size
        except FileNotFoundError as error:
            raise _missing(sha256) from error

    def has(self, sha256: str) -> bool:
        return (self.root / place_of(sha256)).exists()


class RemoteStore:
    """A content store in a bucket, through fsspec."""

    def __init__(self, url: str) -> None:
        # Of the extra `archive`.
        import fsspec  # type: ignore[import-untyped]

        self.files: Any
        self.files, root = fsspec.core.url_to_fs(url)
        self.root = str(root).rstrip("/")

    def put(self, path: Path, sha256: str) -> None:
        if not self.has(sha256):
            self.files.put_file(str(path), self._place(sha256))

    def open(self, sha256: str) -> BinaryIO:
        try:
            opened: BinaryIO = self.files.open(self._place(sha256), "rb")
        except FileNotFoundError as error:
            raise _missing(sha256) from error
        return opened

    def size(self, sha256: str) -> int:
        try:
            return int(self.files.size(self._place(sha256)))
        except FileNotFoundError as error:
            raise _missing(sha256) from error

    def has(self, sha256: str) -> bool:
        return bool(self.files.exists(self._place(sha256)))

    def _place(self, sha256: str) -> str:
        return f"{self.root}/{place_of(sha256)}"


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed processes left. A copy that takes a day is not expected."""
    for scratch in folder.glob(f"{_SCRATCH}*"):
        with suppress(FileNotFoundError):
            if scratch.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                scratch.unlink()


@contextmanager
def _scratch_file(folder: Path) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=_SCRATCH)
    os.close(descriptor)
    scratch = Path(name)
    try:
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)


def _missing(sha256: str) -> UnknownPluginArtifact:
    return UnknownPluginArtifact(
        f"The archive {sha256[:12]} is not in the store of plugins. Create a release, which fetches it again."
    )
