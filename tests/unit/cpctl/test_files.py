"""Which files `-f` reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpctl.errors import UsageError
from cpctl.files import texts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    for name in ("b.yaml", "a.yaml", "notes.txt", "below/c.yaml", "[x].yaml"):
        (tmp_path / name).write_text(f"name: {name}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a.yaml", ["a.yaml"]),
        ("[ab].yaml", ["a.yaml", "b.yaml"]),
        ("**/c.yaml", ["c.yaml"]),
        # A file of that name is itself.
        ("[x].yaml", ["[x].yaml"]),
        (".", ["[x].yaml", "a.yaml", "b.yaml"]),
    ],
)
def test_a_file_a_pattern_or_a_folder(folder: Path, path: str, names: list[str]) -> None:
    assert [Path(name).name for name, _ in texts([str(folder / path)])] == names


def test_a_pattern_without_files_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"Cannot read .*\*\.json"):
        texts([str(folder / "*.json")])
