"""Reads zip archives entry by entry, and refuses everything but files and folders."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from plugin_store.archive_damage import damaged
from plugin_store.archive_entries import CHUNK_BYTES, ArchiveEntry
from plugin_store.entry_names import refused_entry
from plugin_store.limits import Limits
from plugin_store.zip_directory import check_local_headers, find_directory


def read_zip(archive: BinaryIO, *, size: int, limits: Limits) -> Iterator[ArchiveEntry]:
    """Every entry of a zip archive of `size` bytes, in the order of the central directory."""
    directory = find_directory(archive, size=size, limits=limits)
    with _as_damage(), zipfile.ZipFile(archive) as opened:
        check_local_headers(archive, opened.infolist(), directory)
        for entry in opened.infolist():
            yield _entry(opened, entry)


def _entry(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> ArchiveEntry:
    mode = entry.external_attr >> 16
    is_folder = entry.orig_filename.endswith("/")
    if stat.S_IFMT(mode) not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
        raise refused_entry(entry.orig_filename, f"it is {_kind(mode)}")
    if is_folder and entry.file_size:
        raise refused_entry(entry.orig_filename, "it is a folder with content")
    return ArchiveEntry(
        name=entry.orig_filename,
        is_folder=is_folder,
        is_executable=bool(mode & 0o100),
        chunks=lambda: _chunks(opened, entry),
    )


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
        return "a folder by its mode or its name only"
    return "a device, a FIFO or a socket"


def _chunks(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    count = 0
    with _as_damage(), opened.open(entry) as content:
        while chunk := content.read(CHUNK_BYTES):
            count += len(chunk)
            yield chunk
    if count != entry.file_size:
        raise damaged(f"Its entry {entry.orig_filename!r} has another size than it states")


@contextmanager
def _as_damage() -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise damaged("It is truncated") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        UnicodeError,
        ValueError,
    ) as error:
        raise damaged(f"It is damaged ({error})") from error
