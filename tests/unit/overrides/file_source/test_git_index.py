"""Whether files are committed, compared with what Git itself does."""

from __future__ import annotations

from pathlib import Path

import pytest

from overrides.file_source.folder import read_texts
from overrides.file_source.git_index import is_committed, read_index
from tests.unit.overrides.file_source.test_head_commit import git

LONG = "a" * 5000


@pytest.fixture(params=["sha1", "sha256"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder inside a checkout, with two committed files and what is no document beside them."""
    git(tmp_path, "init", "--initial-branch=main", f"--object-format={request.param}")
    folder = tmp_path / "config" / "overrides"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.yaml").write_text("kind: workflow\n")
    (folder / "deep" / "two.json").write_text("{}")
    (folder / "notes.txt").write_text("x")
    (tmp_path / "other.yaml").write_text("x")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "First.")
    return folder


def committed(folder: Path) -> bool:
    return is_committed(folder, read_texts(folder))


def test_committed_files_are_and_changed_added_and_removed_ones_are_not(folder: Path) -> None:
    assert committed(folder)
    (folder / "notes.txt").write_text("changed, but no document")
    assert committed(folder)

    (folder / "one.yaml").write_text("kind: workflow\n# changed\n")
    assert not committed(folder)
    git(folder, "commit", "-am", "Second.")
    assert committed(folder)

    (folder / "new.yml").write_text("x")
    assert not committed(folder)
    (folder / "new.yml").unlink()
    (folder / "deep" / "two.json").unlink()
    assert not committed(folder)


def test_the_whole_checkout_can_be_the_folder(folder: Path) -> None:
    assert committed(folder.parents[1])


def test_names_of_any_length_are_read_as_git_lists_them(folder: Path) -> None:
    root = folder.parents[1]
    for length in range(1, 24):
        (root / ("n" * length)).write_text(str(length))
    deep = root.joinpath(*(LONG[:200] for _ in range(15)))
    deep.mkdir(parents=True)
    (deep / LONG[:200]).write_text("x")
    git(root, "add", "--intent-to-add", ".")
    git(root, "add", "n", "nn")

    index = (root / ".git" / "index").read_bytes()
    listed = git(root, "ls-files", "--stage").splitlines()
    assert {name: digest.hex() for name, digest in read_index(index)} == {
        line.partition("\t")[2]: line.split()[1] for line in listed
    }


@pytest.mark.parametrize(
    "spoil", [b"", b"DIRC", b"DIRC\0\0\0\4\0\0\0\1", b"DIRC\0\0\0\2\xff\0\0\0", b"x" * 100]
)
def test_an_index_that_cannot_be_read_claims_nothing(folder: Path, spoil: bytes) -> None:
    (folder.parents[1] / ".git" / "index").write_bytes(spoil)
    assert not committed(folder)
    (folder.parents[1] / ".git" / "index").unlink()
    assert not committed(folder)


def test_without_a_checkout_nothing_is_committed(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("x")
    assert not committed(tmp_path)
