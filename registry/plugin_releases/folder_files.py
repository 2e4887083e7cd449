"""Plugin configurations in a file or folder: what is in it now, such as in a mounted ConfigMap."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from registry.plugins.documents.reading import MAX_BYTES

SUFFIXES = (".yaml", ".yml", ".json")
PLATFORM = ""
_MAX_FILES = 1_000
# A file that was modified a moment ago may be incomplete.
_SETTLED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class FolderFile:
    """The configuration of one team; an empty `team` is the platform. problem: why it cannot be read."""

    name: str
    team: str
    text: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FolderListing:
    """All files by team. problems: of files that belong to nobody."""

    files: Mapping[str, FolderFile]
    problems: tuple[FolderFile, ...] = ()
    is_settled: bool = True

    @property
    def digest(self) -> str:
        parts = [(file.team, file.name, file.text, file.problem) for file in self.files.values()]
        parts += [(file.team, file.name, file.text, file.problem) for file in self.problems]
        return hashlib.sha256(repr(sorted(parts)).encode(errors="backslashreplace")).hexdigest()


def read_files(path: Path, *, settled_seconds: float = _SETTLED_SECONDS) -> FolderListing:
    """Read a file with the platform's configuration, or a folder with those of teams too. Raises OSError."""
    if path.is_file():
        file = _read(path, path, Path(path.name), PLATFORM)
        return FolderListing({PLATFORM: file}, is_settled=_is_settled(path, settled_seconds))
    if not path.is_dir():
        raise FileNotFoundError("it is neither a file nor a folder")
    files: dict[str, FolderFile] = {}
    problems: list[FolderFile] = []
    is_settled = True
    for name in _names(path):
        team = team_of(name)
        is_settled = is_settled and _is_settled(path / name, settled_seconds)
        if team is None:
            problems.append(FolderFile(_printable(name), PLATFORM, problem=_MISPLACED))
        elif team in files:
            first = files[team].name
            problems.append(FolderFile(_printable(name), team, problem=f"{first} is for the same plugins."))
        else:
            files[team] = _read(path, path / name, name, team)
    return FolderListing(files, tuple(problems), is_settled)


_MISPLACED = "Name it platform.yaml, or teams/<team>.yaml."


def team_of(name: Path) -> str | None:
    """Return whose configuration a file has: a team's name, or empty. None if it is misplaced."""
    if name.parts == (name.name,) and name.stem == "platform":
        return PLATFORM
    if len(name.parts) == 2 and name.parts[0] == "teams":
        return name.stem
    return None


def _names(path: Path) -> Iterator[Path]:
    """Yield names of files, except hidden ones: Kubernetes keeps versions of a mounted ConfigMap there."""
    paths = (file.relative_to(path) for file in path.rglob("*") if file.suffix in SUFFIXES)
    visible = (name for name in paths if not any(part.startswith(".") for part in name.parts))
    yield from sorted(visible)[:_MAX_FILES]


def _read(root: Path, path: Path, name: Path, team: str) -> FolderFile:
    """Read a file, up to one byte more than is allowed, which is enough to reject it."""
    try:
        file = path.resolve(strict=True)
        # A link must not expose other files of this machine to a team's readers.
        if root.is_dir() and not file.is_relative_to(root.resolve()):
            return FolderFile(_printable(name), team, problem="It is a link to outside of the folder.")
        with file.open("rb") as opened:
            return FolderFile(_printable(name), team, opened.read(MAX_BYTES + 1).decode())
    except UnicodeDecodeError as error:
        problem = f"It is not UTF-8: byte {error.start} cannot be decoded."
    except OSError as error:
        problem = f"It cannot be read: {error.strerror or 'unknown error'}."
    return FolderFile(_printable(name), team, problem=problem)


def _is_settled(path: Path, seconds: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime >= seconds
    except OSError:
        return True


def _printable(name: Path) -> str:
    return str(name).encode(errors="backslashreplace").decode()
