"""Extracts archives: regular files and folders only, within limits, and never outside the target folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from plugin_store.archive_damage import damaged, looks_like_a_page
from plugin_store.archive_entries import CHUNK_BYTES, ArchiveEntry, ArchiveKind
from plugin_store.digests import TreeFile
from plugin_store.entry_names import EntryNames, parts_of, refused_entry
from plugin_store.errors import ArchiveTooLarge
from plugin_store.limits import DEFAULT_LIMITS, Limits, Usage
from plugin_store.tar_reading import read_tar_gz
from plugin_store.zip_reading import read_zip

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ARCHIVE_STARTS = (
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf",
)
_TAR_MAGIC, _TAR_MAGIC_OFFSET = b"ustar", 257


def extract(
    archive: BinaryIO, *, kind: ArchiveKind, yaml_name: str, folder: Path, limits: Limits = DEFAULT_LIMITS
) -> tuple[TreeFile, ...]:
    """Extract a seekable archive into a new folder, and return what was written.

    A bare YAML file gets the name `yaml_name`: the archive's own may differ for the same bytes.
    Raises ArchiveRefused; the folder then holds a part of the archive, and must be removed.
    """
    size = archive.seek(0, os.SEEK_END)
    archive.seek(0)
    if size > limits.archive_bytes:
        raise ArchiveTooLarge(
            "The archive was refused.",
            why=f"It has more than {limits.archive_bytes:,} bytes.",
            advice="Make it smaller, or raise this limit if you trust its author.",
        )
    folder.mkdir(mode=0o755)
    extraction = _Extraction(folder, Usage(limits, size))
    for entry in _entries(archive, kind=kind, yaml_name=yaml_name, size=size, limits=limits):
        extraction.write(entry)
    if not extraction.files:
        raise damaged("It holds no files")
    return tuple(extraction.files)


def _entries(
    archive: BinaryIO, *, kind: ArchiveKind, yaml_name: str, size: int, limits: Limits
) -> Iterator[ArchiveEntry]:
    match kind:
        case ArchiveKind.TAR_GZ:
            return read_tar_gz(archive, size=size, limits=limits)
        case ArchiveKind.ZIP:
            return read_zip(archive, size=size, limits=limits)
        case ArchiveKind.YAML:
            return _read_yaml(archive, yaml_name)


def _read_yaml(archive: BinaryIO, name: str) -> Iterator[ArchiveEntry]:
    """A bare YAML file, as an archive of this one file."""
    start = archive.read(512)
    archive.seek(0)
    if looks_like_a_page(start) or b"\0" in start or not start.strip():
        raise damaged("It is no YAML file", start=start)
    yield ArchiveEntry(name, False, False, lambda: iter(lambda: archive.read(CHUNK_BYTES), b""))


class _Extraction:
    """One extraction under way."""

    def __init__(self, folder: Path, usage: Usage) -> None:
        self.files: list[TreeFile] = []
        self._folder = folder
        self._usage = usage
        self._names = EntryNames()

    def write(self, entry: ArchiveEntry) -> None:
        """Write one entry, after every check of its name."""
        parts = parts_of(entry.name, self._usage.limits)
        if not parts and not entry.is_folder:
            raise refused_entry(entry.name, "its name is that of the root")
        self._names.add(entry.name, parts, is_folder=entry.is_folder)
        self._usage.count_entry(parts)
        parent = self._open_folders(entry.name, parts if entry.is_folder else parts[:-1])
        try:
            if not entry.is_folder:
                self.files.append(self._write_file(entry, parts, parent))
        finally:
            os.close(parent)

    def _open_folders(self, name: str, parts: tuple[str, ...]) -> int:
        """Open the folder of an entry from the target downwards; no step follows a link."""
        self._check_inside(name, parts)
        current = os.open(self._folder, _FOLDER_FLAGS)
        for part in parts:
            try:
                following = _open_or_make(part, current)
            finally:
                os.close(current)
            current = following
        return current

    def _check_inside(self, name: str, parts: tuple[str, ...]) -> None:
        """A second guard, independent of the checks of names: the resolved parent is inside the target."""
        root = os.path.realpath(self._folder)
        if os.path.commonpath([root, os.path.realpath(self._folder.joinpath(*parts))]) != root:
            raise refused_entry(name, "it would be outside of the plugin's folder")

    def _write_file(self, entry: ArchiveEntry, parts: tuple[str, ...], parent: int) -> TreeFile:
        mode = 0o755 if entry.is_executable else 0o644
        digest = hashlib.sha256()
        with open(os.open(parts[-1], _FILE_FLAGS, 0o600, dir_fd=parent), "wb") as file:
            for chunk in self._counted(entry):
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            # Set, not masked by the umask: the tree digest has it. Bits such as setuid are gone.
            os.fchmod(file.fileno(), mode)
        return TreeFile("/".join(parts), mode, digest.hexdigest())

    def _counted(self, entry: ArchiveEntry) -> Iterator[bytes]:
        so_far = 0
        for chunk in entry.chunks():
            if not so_far and _is_archive(chunk):
                raise refused_entry(entry.name, "it is an archive itself")
            so_far += len(chunk)
            self._usage.count_bytes(entry.name, so_far, len(chunk))
            yield chunk


def _open_or_make(part: str, parent: int) -> int:
    try:
        os.mkdir(part, 0o755, dir_fd=parent)
    except FileExistsError:
        return os.open(part, _FOLDER_FLAGS, dir_fd=parent)
    made = os.open(part, _FOLDER_FLAGS, dir_fd=parent)
    os.fchmod(made, 0o755)
    return made


def _is_archive(start: bytes) -> bool:
    return start.startswith(_ARCHIVE_STARTS) or start[_TAR_MAGIC_OFFSET:].startswith(_TAR_MAGIC)
