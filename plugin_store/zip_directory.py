"""Compares the central directory of a zip archive with its local headers: no reader sees other files."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo

from plugin_store.archive_damage import damaged
from plugin_store.entry_names import refused_entry
from plugin_store.errors import ArchiveTooLarge
from plugin_store.limits import Limits

_END = struct.Struct("<4s4H2LH")
_END_MAGIC = b"PK\x05\x06"
_ZIP64_LOCATOR_MAGIC, _ZIP64_LOCATOR_BYTES = b"PK\x06\x07", 20
_LOCAL = struct.Struct("<4s5H3L2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_LONGEST_COMMENT = 0xFFFF
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000
_HAS_DESCRIPTOR = 0x0008
_IS_UTF8 = 0x0800
_LONGEST_DESCRIPTOR = 24
_UNICODE_PATH = 0x7075


@dataclass(frozen=True, slots=True)
class Directory:
    """Where the central directory of an archive is."""

    offset: int
    entries: int


def find_directory(archive: BinaryIO, *, size: int, limits: Limits) -> Directory:
    """Find the central directory before `zipfile` reads it whole; raises ArchiveRefused."""
    tail = _read_at(archive, max(0, size - _END.size - _LONGEST_COMMENT), size)
    position = tail.rfind(_END_MAGIC)
    if position < 0 or len(tail) - position < _END.size:
        raise damaged("It is no zip file, or truncated", start=_read_at(archive, 0, 64))
    _, disk, first_disk, here, entries, length, offset, comment = _END.unpack_from(tail, position)
    end = size - len(tail) + position
    if tail[max(0, position - _ZIP64_LOCATOR_BYTES) :].startswith(_ZIP64_LOCATOR_MAGIC):
        raise ArchiveTooLarge(
            "The archive was refused.", why="It is a zip64 archive.", advice="Pack fewer or smaller files."
        )
    if disk or first_disk or here != entries or end + _END.size + comment != size or offset + length != end:
        raise damaged("The end of its central directory contradicts the file")
    if entries > limits.entries or length > limits.entries * (46 + limits.name_bytes):
        raise ArchiveTooLarge(
            "The archive was refused.",
            why=f"It holds more than {limits.entries:,} files and folders.",
            advice="Pack fewer files, or raise this limit if you trust its author.",
        )
    return Directory(offset, entries)


def check_local_headers(archive: BinaryIO, entries: list[ZipInfo], directory: Directory) -> None:
    """Refuse entries that overlap, hide between others, or contradict their local headers."""
    if len(entries) != directory.entries:
        raise damaged("Its central directory has another number of entries than it states")
    position = slack = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if not position <= entry.header_offset <= position + slack:
            raise refused_entry(
                entry.orig_filename, "it overlaps another entry, or hides bytes in front of it"
            )
        _check_entry(entry)
        position = _end_of_content(archive, entry)
        slack = _LONGEST_DESCRIPTOR if entry.flag_bits & _HAS_DESCRIPTOR else 0
    if not position <= directory.offset <= position + slack:
        raise damaged("It has hidden bytes in front of its central directory")


def _check_entry(entry: ZipInfo) -> None:
    if entry.flag_bits & _ENCRYPTED:
        raise refused_entry(entry.orig_filename, "it is encrypted")
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise refused_entry(entry.orig_filename, "it is compressed by another method than deflate")
    if not entry.flag_bits & _IS_UTF8 and not entry.orig_filename.isascii():
        raise refused_entry(entry.orig_filename, "its name is not marked as UTF-8")
    if _UNICODE_PATH in _extra_fields(entry):
        raise refused_entry(entry.orig_filename, "it has a second name")


def _end_of_content(archive: BinaryIO, entry: ZipInfo) -> int:
    """Where the content of an entry ends, after its local header was compared with the central directory."""
    start = entry.header_offset
    header = _read_at(archive, start, start + _LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_LOCAL_MAGIC):
        raise damaged(f"Its entry {entry.orig_filename!r} has no local header")
    _, _, flags, method, _, _, crc, packed, unpacked, name_length, extra_length = _LOCAL.unpack(header)
    name_end = start + _LOCAL.size + name_length
    name = _read_at(archive, start + _LOCAL.size, name_end)
    # The central name is ASCII, or marked as UTF-8; the flags are compared below.
    if name != entry.orig_filename.encode():
        raise refused_entry(entry.orig_filename, f"its local header has the name {name[:200]!r}")
    sizes = (crc, packed, unpacked)
    central = (entry.CRC, entry.compress_size, entry.file_size)
    is_deferred = bool(flags & _HAS_DESCRIPTOR) and sizes == (0, 0, 0)
    if (flags, method) != (entry.flag_bits, entry.compress_type) or not (is_deferred or sizes == central):
        raise refused_entry(entry.orig_filename, "its local header contradicts the central directory")
    return int(name_end + extra_length + entry.compress_size)


def _extra_fields(entry: ZipInfo) -> set[int]:
    fields, position = set(), 0
    while position + 4 <= len(entry.extra):
        field, length = struct.unpack_from("<HH", entry.extra, position)
        fields.add(field)
        position += 4 + length
    return fields


def _read_at(archive: BinaryIO, start: int, end: int) -> bytes:
    archive.seek(start)
    return archive.read(end - start)
