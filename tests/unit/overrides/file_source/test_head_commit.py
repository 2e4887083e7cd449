"""The commit of a checkout, compared with what Git itself says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from overrides.file_source.head_commit import head_commit

_NOBODY = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"} | {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "jane"), ("EMAIL", "jane@example.com"))
}


def git(folder: Path, *words: str) -> str:
    environment = {**os.environ, **_NOBODY}
    done = subprocess.run(
        ["git", "-C", str(folder), *words], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "config").mkdir(parents=True)
    git(folder, "init", "--initial-branch=main")
    git(folder, "commit", "--allow-empty", "-m", "First.")
    return folder


def test_branches_packed_branches_and_single_commits(checkout: Path) -> None:
    first = git(checkout, "rev-parse", "HEAD")
    assert head_commit(checkout / "config") == first

    git(checkout, "pack-refs", "--all")
    assert not (checkout / ".git/refs/heads/main").exists()
    assert head_commit(checkout) == first

    git(checkout, "commit", "--allow-empty", "-m", "Second.")
    second = git(checkout, "rev-parse", "HEAD")
    assert head_commit(checkout) == second != first

    git(checkout, "checkout", "--detach", first)
    assert head_commit(checkout) == first


def test_a_worktree_shares_the_branches_of_its_repository(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "-b", "other", str(tmp_path / "worktree"))
    git(tmp_path / "worktree", "commit", "--allow-empty", "-m", "Other.")
    (tmp_path / "link").symlink_to(tmp_path / "worktree")

    assert head_commit(tmp_path / "link") == git(tmp_path / "worktree", "rev-parse", "HEAD")


def test_where_there_is_no_commit_there_is_none(tmp_path: Path) -> None:
    assert head_commit(tmp_path / "missing") == ""
    git(tmp_path, "init", "--initial-branch=main")
    assert head_commit(tmp_path) == ""


@pytest.mark.parametrize("head", ["ref: ../../secret", "ref: refs/heads/../../../secret", "a" * 39, "hello"])
def test_nothing_but_a_commit_is_ever_returned(checkout: Path, head: str) -> None:
    (checkout / "secret").write_text("a" * 40)
    (checkout / ".git/HEAD").write_text(head)

    assert head_commit(checkout) == ""


def test_a_pipe_in_place_of_a_file_blocks_nothing(checkout: Path) -> None:
    (checkout / ".git/HEAD").unlink()
    os.mkfifo(checkout / ".git/HEAD")

    assert head_commit(checkout) == ""
