"""Reads tar.gz archives entry by entry, forward only, and refuses everything but files and folders.

`tarfile` takes a damaged header for the end of the archive, and reads extension headers of any size into
memory. Both are refused here, in `frombuf`, which sees every header first.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Self

from plugin_store.archive_damage import damaged
from plugin_store.archive_entries import CHUNK_BYTES, ArchiveEntry
from plugin_store.entry_names import refused_entry
from plugin_store.errors import ArchiveTooLarge
from plugin_store.limits import MIB, Limits, check_ratio

_GZIP_MAGIC = b"\x1f\x8b"
_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_KINDS = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a FIFO",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}
# Headers and padding, beside the files themselves.
_OVERHEAD_BYTES = 64 * MIB


def read_tar_gz(archive: BinaryIO, *, size: int, limits: Limits) -> Iterator[ArchiveEntry]:
    """Every entry of a tar.gz archive of `size` bytes."""
    start = archive.read(512)
    archive.seek(0)
    if not start.startswith(_GZIP_MAGIC):
        raise damaged("It is not a gzip file", start=start)
    with _as_damage(), gzip.GzipFile(fileobj=archive, mode="rb") as unpacked:
        stream = _MeteredStream(unpacked, size=size, limits=limits)
        header = _strict_header(limits)
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=header, encoding="utf-8") as tar:  # type: ignore[call-overload]
            for member in tar:
                yield _entry(tar, member)
            _check_rest(tar, stream)


class _MeteredStream:
    """What gzip unpacks, counted while it is read."""

    def __init__(self, unpacked: gzip.GzipFile, *, size: int, limits: Limits) -> None:
        self._unpacked = unpacked
        self._size = size
        self._limits = limits
        self._count = 0

    def read(self, size: int) -> bytes:
        chunk = self._unpacked.read(size)
        self._count += len(chunk)
        check_ratio(self._limits, unpacked=self._count, packed=self._size)
        if self._count > self._limits.total_bytes + _OVERHEAD_BYTES:
            raise _too_large(f"it unpacks to more than {self._limits.total_bytes:,} bytes")
        return chunk


def _strict_header(limits: Limits) -> type[tarfile.TarInfo]:
    """A class of headers for one archive, which refuses what `tarfile` would pass over or read in full."""
    extensions = _Extensions(limits)

    class StrictHeader(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> Self:
            try:
                header = super().frombuf(buf, encoding, errors)  # type: ignore[arg-type]
            except tarfile.HeaderError as error:
                if len(buf) == tarfile.BLOCKSIZE and not any(buf):
                    raise  # The end marker.
                raise damaged(f"One of its headers is missing or damaged ({error})") from error
            extensions.check(header)
            return header

    return StrictHeader


class _Extensions:
    """The bytes of extension headers, such as long names, in one archive."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._total = 0

    def check(self, header: tarfile.TarInfo) -> None:
        """Refuse a header before `tarfile` acts on it."""
        if header.size < 0:
            raise damaged("One of its headers has a negative size")
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise refused_entry(header.name, "it is a sparse file")
        if header.type in _EXTENSIONS:
            self._total += header.size
            if header.size > self._limits.tar_extension_bytes:
                raise _too_large(
                    f"an extension header has more than {self._limits.tar_extension_bytes:,} bytes"
                )
            if self._total > self._limits.tar_extensions_total_bytes:
                raise _too_large("its extension headers are too large together")


def _entry(tar: tarfile.TarFile, member: tarfile.TarInfo) -> ArchiveEntry:
    if any(key.startswith("GNU.sparse.") for key in member.pax_headers):
        raise refused_entry(member.name, "it is a sparse file")
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE):
        raise refused_entry(member.name, f"it is {_KINDS.get(member.type, 'of an unknown type')}")
    # `tarfile` removes the slash of a pax name, and other readers take such a file for a folder.
    if not member.isdir() and member.pax_headers.get("path", member.name).endswith("/"):
        raise refused_entry(member.name, "it is a file with the name of a folder")
    if member.size < 0:
        raise damaged("One of its headers has a negative size")
    return ArchiveEntry(
        name=member.name,
        is_folder=member.isdir(),
        is_executable=bool(member.mode & 0o100),
        chunks=lambda: _chunks(tar, member),
    )


def _chunks(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    content = tar.extractfile(member)
    if content is None:
        raise damaged(f"Its entry {member.name!r} has no content")
    with _as_damage(), content:
        while chunk := content.read(CHUNK_BYTES):
            yield chunk


def _check_rest(tar: tarfile.TarFile, stream: _MeteredStream) -> None:
    """Read to the end, so that gzip compares its checksum, and refuse what is hidden there."""
    buffered = tar.fileobj
    while chunk := buffered.read(CHUNK_BYTES) if buffered is not None else stream.read(CHUNK_BYTES):
        if any(chunk):
            raise damaged("It goes on behind its end marker")


@contextmanager
def _as_damage() -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise damaged("It is truncated") from error
    except (
        tarfile.TarError,
        gzip.BadGzipFile,
        zlib.error,
        RecursionError,
        UnicodeError,
        ValueError,
    ) as error:
        raise damaged(f"It is damaged ({error})") from error


def _too_large(why: str) -> ArchiveTooLarge:
    return ArchiveTooLarge(
        "The archive was refused:", why=f"{why}.", advice="Pack the plugin again, in the pax or GNU format."
    )
