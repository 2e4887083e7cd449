"""Documents from files, folders and standard input, and where in them a line of the whole lies."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cpctl.errors import UsageError

_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Bundle:
    """One text of many. starts: the line at which each file's first line stands, from 1."""

    text: str
    names: Sequence[str]
    starts: Sequence[int]

    def place(self, line: int) -> tuple[str, int]:
        """The file and its own line for a line of the whole."""
        index = max(0, bisect_right(self.starts, line) - 1)
        return self.names[index], line - self.starts[index] + 1


def read(paths: Sequence[str], *, deep: bool = False) -> Bundle:
    """Everything that the paths name, in one text. `-` is standard input."""
    return joined(texts(paths, deep=deep))


def texts(paths: Sequence[str], *, deep: bool = False) -> list[tuple[str, str]]:
    """Each file's name and text. Raises UsageError if there is none."""
    found = [(str(one), _text(one)) for path in paths for one in _files(path, deep=deep)]
    if not found:
        raise UsageError(f"There is no YAML or JSON in {', '.join(paths)}.", hint="-R looks into sub-folders")
    return found


def joined(found: Sequence[tuple[str, str]]) -> Bundle:
    parts: list[str] = []
    starts: list[int] = []
    line = 1
    for _, text in found:
        divided = bool(parts) and not text.lstrip().startswith("---")
        parts.append("---\n" * divided + text.rstrip("\n") + "\n")
        starts.append(line + divided)
        line += parts[-1].count("\n")
    return Bundle("".join(parts), [name for name, _ in found], starts)


def documents(bundle: Bundle) -> list[Any]:
    """The documents, parsed here. Raises UsageError with file, line and column."""
    import yaml

    try:
        return [one for one in yaml.safe_load_all(bundle.text) if one is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place, line = bundle.place(mark.line + 1 if mark else 1)
        raise UsageError(f"{place}:{line}: this is not YAML: {error.problem}.") from error
    except yaml.YAMLError as error:
        raise UsageError(f"This is not YAML: {error}.") from error


def _files(path: str, *, deep: bool) -> list[Path | str]:
    if path == "-":
        return ["-"]
    place = Path(path)
    if not place.is_dir():
        return [place]
    inside = place.rglob("*") if deep else place.glob("*")
    return sorted(one for one in inside if one.suffix in _SUFFIXES and one.is_file())


def _text(path: Path | str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error


def write(text: str, path: str) -> None:
    try:
        Path(path).write_text(text if text.endswith("\n") else text + "\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error}.") from error
