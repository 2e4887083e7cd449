"""Cleaning removes what the store wrote, and nothing else."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from plugin_store.cleaning import CleaningScope, clean
from plugin_store.errors import StoreDamaged
from plugin_store.generations import active_folders, load_manifest
from plugin_store.lock_document import LockDocument
from tests.unit.plugin_store.installations import expected, install_version, installed
from tests.unit.plugin_store.test_lock_document import PLUGIN


def folders(root: Path) -> set[str]:
    return {path.relative_to(root / "store").as_posix() for path in (root / "store").glob("*/*")}


def test_cleaning_removes_what_no_generation_uses(tmp_path: Path) -> None:
    for version in "123":
        install_version(tmp_path, version, keep=1)

    report = clean(tmp_path)

    assert [folder.split("/")[1][:2] for folder in report.removed] == ["1-", "1-"]
    assert folders(tmp_path) == set(load_manifest(tmp_path).folders())
    assert load_manifest(tmp_path).unused == ()
    assert installed(tmp_path) == expected("3")
    assert clean(tmp_path).removed == ()


def test_a_dry_run_reports_the_same_and_removes_nothing(tmp_path: Path) -> None:
    for version in "12":
        install_version(tmp_path, version, keep=0)
    before = folders(tmp_path)

    planned = clean(tmp_path, is_dry_run=True)

    assert folders(tmp_path) == before
    assert clean(tmp_path) == planned
    assert len(planned.removed) == 2


def test_foreign_files_are_reported_and_stay(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    foreign = ["notes.txt", ".staging/mine", "store/other/1/plugin.yaml", "store/bq2bq/mine"]
    for name in foreign:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")

    report = clean(tmp_path, scope=CleaningScope.ALL)

    assert report.foreign == (".staging/mine", "notes.txt", "store/bq2bq/mine", "store/other")
    assert all((tmp_path / name).read_text() == "x" for name in foreign)
    assert len(report.removed) == 2


def test_a_folder_with_a_foreign_file_stays_and_is_reported_until_it_is_gone(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    folder = active_folders(tmp_path)["bq2bq"]
    (folder / "mine").write_text("x")

    for _ in range(2):
        report = clean(tmp_path, scope=CleaningScope.ALL)
        assert report.changed == (folder.relative_to(tmp_path / "store").as_posix(),)
    (folder / "mine").unlink()

    assert len(clean(tmp_path).removed) == 1
    assert not folder.exists()


def test_everything_is_removed_but_the_lock_file_and_the_manifest(tmp_path: Path) -> None:
    install_version(tmp_path, "1")

    clean(tmp_path, scope=CleaningScope.ALL)

    assert active_folders(tmp_path) == {}
    assert {path.name for path in tmp_path.rglob("*")} == {"manifest.json", ".lock", ".staging", "store"}


def test_a_lost_manifest_is_replaced_by_the_lock(tmp_path: Path) -> None:
    (plugin, _) = install_version(tmp_path, "1").generation.plugins
    (tmp_path / "manifest.json").unlink()
    locked = replace(PLUGIN, name="bq2bq", version="1", sha256=plugin.sha256, tree=plugin.tree)
    lock = LockDocument("test", "0" * 64, (locked,))

    assert clean(tmp_path, scope=CleaningScope.ALL).removed == ()
    report = clean(tmp_path, scope=CleaningScope.ALL, lock=lock)

    assert report.removed == (plugin.folder,)
    assert report.foreign == ("store/transporter",)


def test_an_empty_folder_of_others_stays(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    (tmp_path / "store" / "other").mkdir()

    assert clean(tmp_path, scope=CleaningScope.ALL).foreign == ("store/other",)
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["other"]


def test_a_folder_with_names_that_no_plugin_has_stays(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    folder = active_folders(tmp_path)["bq2bq"]
    Path(os.fsdecode(bytes(folder) + b"/\xff")).write_text("x")

    assert len(clean(tmp_path, scope=CleaningScope.ALL).changed) == 1


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for version in "12":
        install_version(root, version, keep=0)
    (unused, *_) = load_manifest(root).unused
    parent = root / "store" / unused.folder.split("/")[0]
    parent.rename(tmp_path / "elsewhere")
    parent.symlink_to(tmp_path / "elsewhere")

    report = clean(root)

    assert unused.folder in report.changed
    assert (tmp_path / "elsewhere" / unused.folder.split("/")[1]).is_dir()


def test_a_store_that_is_a_link_is_refused(tmp_path: Path) -> None:
    install_version(tmp_path / "other", "1")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "store").symlink_to(tmp_path / "other" / "store")

    with pytest.raises(StoreDamaged):
        clean(tmp_path / "root", scope=CleaningScope.ALL)


def test_a_folder_without_a_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")

    assert clean(tmp_path, scope=CleaningScope.ALL).removed == ()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
