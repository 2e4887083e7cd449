"""Documents from files, folders and standard input, with the position of each line."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from cpctl.errors import UsageError

_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Bundle:
    """Several files as one text. starts: line of each file's first line, from 1."""

    text: str
    names: Sequence[str]
    starts: Sequence[int]

    def place(self, line: int) -> tuple[str, int]:
        """Return the file, and the line within it, for a line of the text."""
        index = max(0, bisect_right(self.starts, line) - 1)
        return self.names[index], line - self.starts[index] + 1


def read(paths: Sequence[str], *, deep: bool = False) -> Bundle:
    """Return all documents at the paths as one text. `-` is standard input."""
    return joined(texts(paths, deep=deep))


def texts(paths: Sequence[str], *, deep: bool = False) -> list[tuple[str, str]]:
    """Return the name and text of each file. Raises UsageError if there is none."""
    named_texts = [(str(file), _text(file)) for path in paths for file in _files(path, deep=deep)]
    if not named_texts:
        raise UsageError(
            f"No YAML or JSON files found in {', '.join(paths)}.", hint="add -R to search subfolders"
        )
    return named_texts


def joined(named_texts: Sequence[tuple[str, str]]) -> Bundle:
    parts: list[str] = []
    starts: list[int] = []
    line = 1
    for _, text in named_texts:
        divided = bool(parts) and not text.lstrip().startswith("---")
        parts.append("---\n" * divided + text.rstrip("\n") + "\n")
        starts.append(line + divided)
        line += parts[-1].count("\n")
    return Bundle("".join(parts), [name for name, _ in named_texts], starts)


def documents(bundle: Bundle) -> list[Any]:
    """Return the parsed documents. Raises UsageError with file and line."""
    import yaml

    try:
        return [document for document in yaml.safe_load_all(bundle.text) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place, line = bundle.place(mark.line + 1 if mark else 1)
        raise UsageError(f"{place}:{line}: Invalid YAML: {error.problem}.") from error
    except yaml.YAMLError as error:
        raise UsageError(f"Invalid YAML: {error}.") from error


def _files(path: str, *, deep: bool) -> list[Path | str]:
    if path == "-":
        return ["-"]
    place = Path(path)
    if not place.exists() and (matching := glob(path, recursive=True)):
        return [*map(Path, sorted(matching))]
    if not place.is_dir():
        return [place]
    inside = place.rglob("*") if deep else place.glob("*")
    return sorted(entry for entry in inside if entry.suffix in _SUFFIXES and entry.is_file())


def _text(path: Path | str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {path}: {error}.") from error


def write(text: str, path: str) -> None:
    try:
        Path(path).write_text(text if text.endswith("\n") else text + "\n")
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error}.") from error
