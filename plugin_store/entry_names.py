"""Names of entries in archives: relative, unambiguous on every file system, without collisions. Pure."""

from __future__ import annotations

import re
import unicodedata

from plugin_store.errors import ArchiveRefused
from plugin_store.limits import Limits

_DRIVE = re.compile(r"[A-Za-z]:")
_LONGEST_PART = 255


def parts_of(name: str, limits: Limits) -> tuple[str, ...]:
    """The parts of an entry's name in NFC, empty for the root itself; raises ArchiveRefused."""
    path = unicodedata.normalize("NFC", name)
    if problem := _problem_of_path(path, limits):
        raise refused_entry(name, problem)
    parts = tuple(path.removesuffix("/").split("/"))
    # `tar -C folder .` writes "./" and "./file".
    parts = parts[1:] if parts[0] == "." else parts
    for part in parts:
        if problem := _problem_of_part(part):
            raise refused_entry(name, problem)
    if len(parts) > limits.depth:
        raise refused_entry(name, f"it is more than {limits.depth} folders deep")
    return parts


def _problem_of_path(path: str, limits: Limits) -> str:
    if not path:
        return "its name is empty"
    if path.startswith("/") or _DRIVE.match(path):
        return "its name is absolute"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        return "its name has a control character, or is not UTF-8"
    if "\\" in path:
        return "its name has a backslash"
    if len(path.encode()) > limits.name_bytes:
        return f"its name has more than {limits.name_bytes:,} bytes"
    return ""


def _problem_of_part(part: str) -> str:
    if part in ("", ".", ".."):
        return "its name has an empty part, '.' or '..'"
    if part.endswith((".", " ")):
        return "a part of its name ends with a dot or a space"
    if len(part.encode()) > _LONGEST_PART:
        return f"a part of its name has more than {_LONGEST_PART} bytes"
    return ""


class EntryNames:
    """The names seen in one archive, so that no entry replaces or hides another one."""

    def __init__(self) -> None:
        self._spelled: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._files: set[tuple[str, ...]] = set()
        self._folders: set[tuple[str, ...]] = set()

    def add(self, name: str, parts: tuple[str, ...], *, is_folder: bool) -> None:
        """Add an entry and the folders above it; raises ArchiveRefused for a collision."""
        for length in range(1, len(parts) + 1):
            self._add_path(name, parts[:length], is_folder=is_folder or length < len(parts))

    def _add_path(self, name: str, parts: tuple[str, ...], *, is_folder: bool) -> None:
        key = tuple(map(_folded, parts))
        spelled = self._spelled.setdefault(key, parts)
        if spelled != parts:
            raise refused_entry(
                name, f"its name differs from {'/'.join(spelled)!r} in upper and lower case only"
            )
        if key in self._files or (not is_folder and key in self._folders):
            raise refused_entry(name, "the archive has another entry of this name")
        (self._folders if is_folder else self._files).add(key)


def _folded(part: str) -> str:
    """Equal for names that a file system without case, or with other Unicode forms, would take as equal."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", part).casefold())


def refused_entry(name: str, why: str) -> ArchiveRefused:
    """The error for one entry."""
    return ArchiveRefused(
        f"The archive was refused because of its entry {name[:200]!r}:",
        why=f"{why}.",
        advice="Pack the plugin again, with regular files and folders and relative names only.",
    )
