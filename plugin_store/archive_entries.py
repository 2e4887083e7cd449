"""Entries of an archive, whatever its format, as the readers give them to extraction. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from plugin_store.errors import ArchiveRefused

CHUNK_BYTES = 64 * 1024


class ArchiveKind(StrEnum):
    """A format that plugins are packed in."""

    TAR_GZ = "tar.gz"
    ZIP = "zip"
    YAML = "yaml"


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A regular file or a folder. `chunks` must be used up before the next entry is read."""

    name: str
    is_folder: bool
    is_executable: bool
    chunks: Callable[[], Iterator[bytes]]


_BY_SUFFIX = {
    ".tar.gz": ArchiveKind.TAR_GZ,
    ".tgz": ArchiveKind.TAR_GZ,
    ".zip": ArchiveKind.ZIP,
    ".yaml": ArchiveKind.YAML,
}


def kind_of(file_name: str) -> ArchiveKind:
    """The format that a file's name states, or raises ArchiveRefused."""
    for suffix, kind in _BY_SUFFIX.items():
        if file_name.endswith(suffix):
            return kind
    raise ArchiveRefused(
        f"The archive {file_name[:200]!r} was refused.",
        why="The suffix of its name is unknown.",
        advice=f"Use one of {', '.join(_BY_SUFFIX)}.",
    )
