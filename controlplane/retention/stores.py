"""Where archives are: a folder, or a store that fsspec can open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import urlsplit


class StoreUnavailable(Exception):
    """ARCHIVE_URL is empty, or the package of its store is not installed."""


class Store(Protocol):
    """Files below one address. Paths have `/` and are relative."""

    def read(self, path: str) -> Any:
        """Return a context manager with the file, open for reading bytes. Raises FileNotFoundError."""

    def write(self, path: str) -> Any:
        """Return a context manager with a file to write bytes to, which appears whole when it is closed."""


class FolderStore:
    """Files in a folder, written to the disk before they get their names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def read(self, path: str) -> Iterator[IO[bytes]]:
        with (self._folder / path).open("rb") as file:
            yield file

    @contextmanager
    def write(self, path: str) -> Iterator[IO[bytes]]:
        target = self._folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f"{target.name}.{os.getpid()}.unfinished")
        try:
            with unfinished.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)


class RemoteStore:
    """Files in S3, Google Cloud Storage and others: fsspec writes them whole, or not at all."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec  # type: ignore[import-untyped]
        except ImportError as error:
            raise StoreUnavailable(
                f"ARCHIVE_URL {url} needs the extra `archive` and the package of its store: s3fs or gcsfs."
            ) from error
        self._files, self._prefix = fsspec.core.url_to_fs(url)

    @contextmanager
    def read(self, path: str) -> Iterator[IO[bytes]]:
        with self._files.open(f"{self._prefix}/{path}", "rb") as file:
            yield file

    @contextmanager
    def write(self, path: str) -> Iterator[IO[bytes]]:
        with self._files.transaction, self._files.open(f"{self._prefix}/{path}", "wb") as file:
            yield file


def open_store(url: str) -> Store:
    """Return the store at an address. Raises StoreUnavailable if it is empty or its package is missing."""
    if not url:
        raise StoreUnavailable(
            "No archive is configured. Set ARCHIVE_URL to a folder or to the URL of a store."
        )
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        return FolderStore(Path(parts.path))
    return RemoteStore(url.rstrip("/"))
