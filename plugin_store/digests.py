"""Digests: checksums of archives in every usual form, and the digest of an unpacked tree."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from plugin_store.archive_entries import CHUNK_BYTES
from plugin_store.errors import InvalidChecksum, StoreDamaged

_BYTES = {"sha256": 32, "sha384": 48, "sha512": 64}
_STRENGTH = list(_BYTES)
_SIDECAR_LINE = re.compile(r"(?P<digest>[0-9A-Fa-f]{64})(?:[ \t]+\*?(?P<name>\S.*))?")
_BSD_LINE = re.compile(r"SHA256 ?\((?P<name>.+)\) ?= ?(?P<digest>[0-9A-Fa-f]{64})")


@dataclass(frozen=True, slots=True)
class Checksum:
    """The digest that an archive must have."""

    algorithm: str
    digest: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.digest}"


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A regular file of an unpacked archive; its path is relative, with slashes."""

    path: str
    mode: int
    sha256: str


def parse_checksum(text: str) -> Checksum:
    """Read `sha256:HEX`, plain HEX of a SHA-256, or SRI (`sha512-BASE64`, the strongest of several)."""
    words = text.split()
    checksums = [checksum for word in words if (checksum := _parse_word(word))]
    if not checksums or len(checksums) != len(words):
        raise InvalidChecksum(
            f"Invalid checksum {text[:200]!r}.",
            why="It is neither sha256:HEX nor of the form of subresource integrity (sha256-BASE64).",
            advice="Compute it with sha256sum.",
        )
    return max(checksums, key=lambda checksum: _STRENGTH.index(checksum.algorithm))


def _parse_word(word: str) -> Checksum | None:
    algorithm, separator, rest = word.partition(":" if ":" in word else "-")
    if not separator:
        algorithm, separator, rest = "sha256", ":", word
    if algorithm not in _BYTES:
        return None
    try:
        digest = bytes.fromhex(rest) if separator == ":" else base64.b64decode(rest, validate=True)
    except (ValueError, binascii.Error):
        return None
    return Checksum(algorithm, digest.hex()) if len(digest) == _BYTES[algorithm] else None


def checksum_in_sidecar(text: str, file_name: str) -> Checksum:
    """The checksum of a file in the text of its `.sha256` or of a `SHA256SUMS`; raises InvalidChecksum."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    matches = [_BSD_LINE.fullmatch(line) or _SIDECAR_LINE.fullmatch(line) for line in lines]
    digests = {
        match["digest"].lower()
        for match in matches
        if match and _is_for(match["name"], file_name, is_alone=len(lines) == 1)
    }
    if len(digests) == 1 and None not in matches:
        return Checksum("sha256", digests.pop())
    raise InvalidChecksum(
        f"The file of checksums has no usable line for {file_name!r}.",
        why="It is missing, ambiguous, or the file is no output of sha256sum.",
        advice="Open the file: a server may have sent an error page.",
    )


def _is_for(name: str | None, file_name: str, *, is_alone: bool) -> bool:
    return is_alone if name is None else name.removeprefix("./") == file_name


def tree_digest(files: Iterable[TreeFile]) -> str:
    """SHA-256 over the lines `path NUL mode NUL sha256` of all files, sorted by path."""
    lines = sorted(
        f"{file.path}\0{file.mode:04o}\0{file.sha256}\n".encode(errors="surrogateescape") for file in files
    )
    return hashlib.sha256(b"".join(lines)).hexdigest()


def read_tree(folder: Path) -> tuple[TreeFile, ...]:
    """Every file below a folder as it is now; raises StoreDamaged where something else is there."""
    try:
        return tuple(_files_below(folder, folder))
    except OSError as error:
        raise damaged_store(folder, f"It cannot be read ({error.strerror}).") from error
    except RecursionError as error:
        raise damaged_store(folder, "It has more nested folders than any plugin.") from error


def _files_below(root: Path, folder: Path) -> Iterator[TreeFile]:
    with os.scandir(folder) as children:
        for child in sorted(children, key=lambda child: child.name):
            if child.is_dir(follow_symlinks=False):
                yield from _files_below(root, Path(child.path))
            elif child.is_file(follow_symlinks=False):
                yield _read_file(root, Path(child.path))
            else:
                raise damaged_store(root, f"{child.name!r} is a link or a special file.")


def _read_file(root: Path, path: Path) -> TreeFile:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        digest = hashlib.sha256()
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return TreeFile(path.relative_to(root).as_posix(), mode, digest.hexdigest())


def damaged_store(path: Path, why: str) -> StoreDamaged:
    """The error for a path of the store that is not as it was written."""
    return StoreDamaged(
        f"{path} is not as it was installed.",
        why=why,
        advice="Install again: the plugin gets another folder.",
    )
