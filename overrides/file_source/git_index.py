"""Whether files are as Git's index has them, read from Git's files: no Git runs, and so no hook or filter.

Source: gitformat-index(5), versions 2 and 3.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from overrides.file_source.folder import SUFFIXES
from overrides.file_source.head_commit import find_checkout

_HEADER = struct.Struct(">4sII")
# Times, device, inode, mode, owner and size of the file.
_STAT_BYTES = 40
_EXTENDED, _NAME_LENGTH = 0x4000, 0x0FFF
_MAX_BYTES = 64 * 1024 * 1024
_SHA1_BYTES, _SHA256_BYTES = 20, 32


def is_committed(folder: Path, texts: Mapping[str, bytes]) -> bool:
    """Return whether the files of the folder are those that the index of its checkout has.

    texts: by relative name. False if the index cannot be read, such as one of version 4. What is staged and
    not yet committed counts as committed.
    """
    try:
        checkout = find_checkout(folder)
        if checkout is None:
            return False
        index = (checkout.repository / "index").read_bytes()
        prefix = folder.resolve().relative_to(checkout.root).parts
        return _is_same(dict(read_index(index)), prefix, texts)
    except (OSError, ValueError, struct.error):
        return False


def _is_same(index: Mapping[str, bytes], prefix: tuple[str, ...], texts: Mapping[str, bytes]) -> bool:
    expected = {}
    for name, digest in index.items():
        path = PurePosixPath(name)
        inner = path.parts[len(prefix) :]
        is_inside = path.parts[: len(prefix)] == prefix and not any(part.startswith(".") for part in inner)
        if is_inside and path.suffix in SUFFIXES:
            expected["/".join(inner)] = digest
    sizes = {len(digest) for digest in expected.values()}
    hashing = hashlib.sha256 if sizes == {_SHA256_BYTES} else hashlib.sha1
    return expected == {
        name: hashing(b"blob %d\0%b" % (len(content), content)).digest() for name, content in texts.items()
    }


def read_index(index: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and digest of each file. Raises ValueError for other versions, struct.error if it is cut."""
    mark, version, count = _HEADER.unpack_from(index)
    if mark != b"DIRC" or version not in (2, 3) or len(index) > _MAX_BYTES:
        raise ValueError("not an index that we read")
    digest_bytes = _digest_bytes(index)
    start = _HEADER.size
    for _ in range(count):
        at = start + _STAT_BYTES
        digest = index[at : at + digest_bytes]
        (flags,) = struct.unpack_from(">H", index, at + digest_bytes)
        at += digest_bytes + (4 if flags & _EXTENDED else 2)
        end = index.index(0, at) if flags & _NAME_LENGTH == _NAME_LENGTH else at + (flags & _NAME_LENGTH)
        yield index[at:end].decode(), digest
        # Entries end with one to eight NULs, at a multiple of eight bytes.
        start += (end - start + 8) // 8 * 8


def _digest_bytes(index: bytes) -> int:
    """Return how long digests are: the index ends with one of itself."""
    is_sha1 = hashlib.sha1(index[:-_SHA1_BYTES], usedforsecurity=False).digest() == index[-_SHA1_BYTES:]
    return _SHA1_BYTES if is_sha1 else _SHA256_BYTES
