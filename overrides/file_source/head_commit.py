"""The commit of a folder in a Git checkout, read from Git's files: no Git runs, and so no hook or filter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCH = re.compile(r"refs/[\w./+@#=-]+")
# A symbolic reference may name another one.
_MOST_REFERENCES = 5
_MAX_BYTES = 8 * 1024 * 1024


class Checkout(NamedTuple):
    """The folder of a checkout, and the folder with Git's files about it."""

    root: Path
    repository: Path


def head_commit(folder: Path) -> str:
    """Return the commit that HEAD of the folder's checkout names; empty without a checkout or a commit.

    Changes in the folder that are not committed: `is_committed`.
    """
    try:
        checkout = find_checkout(folder)
        return _commit_of(checkout.repository) if checkout else ""
    except (OSError, ValueError):
        return ""


def find_checkout(folder: Path) -> Checkout | None:
    """Return the checkout that contains the folder. Raises OSError, ValueError."""
    for place in (resolved := folder.resolve(), *resolved.parents):
        if (entry := place / ".git").exists():
            return Checkout(place, _repository(entry))
    return None


def _repository(entry: Path) -> Path:
    """Return the repository of a checkout; in worktrees and submodules, `.git` is a file that names it."""
    if entry.is_dir():
        return entry
    return entry.parent / _text(entry).removeprefix("gitdir:").strip()


def _commit_of(repository: Path) -> str:
    value = _text(repository / "HEAD").strip()
    for _ in range(_MOST_REFERENCES):
        if not value.startswith("ref:"):
            break
        value = _reference(repository, value.removeprefix("ref:").strip())
    return value if _COMMIT.fullmatch(value) else ""


def _reference(repository: Path, name: str) -> str:
    """Return the value of a branch or tag; empty if it has no commit yet."""
    if not _BRANCH.fullmatch(name) or ".." in name:
        return ""
    for place in _places(repository):
        if (place / name).is_file():
            return _text(place / name).strip()
        for line in _packed(place):
            commit, _, packed = line.partition(" ")
            if packed == name:
                return commit
    return ""


def _places(repository: Path) -> Iterator[Path]:
    """Yield the repository, and of a worktree also the one that it shares branches with."""
    yield repository
    if (common := repository / "commondir").is_file():
        yield repository / _text(common).strip()


def _packed(place: Path) -> list[str]:
    path = place / "packed-refs"
    return _text(path).splitlines() if path.is_file() else []


def _text(path: Path) -> str:
    """Raises ValueError for what is no file, such as a pipe, which would block."""
    if not path.is_file():
        raise ValueError(f"{path.name} is not a file")
    with path.open("rb") as file:
        return file.read(_MAX_BYTES).decode()
