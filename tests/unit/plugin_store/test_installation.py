"""Installations: what is verified is switched at once, what fails changes nothing that works."""

from __future__ import annotations

import base64
import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plugin_store.digests import Checksum, parse_checksum
from plugin_store.errors import (
    InstallationFailed,
    InvalidName,
    SourceFailed,
    StoreBusy,
    StoreDamaged,
    UnknownGeneration,
)
from plugin_store.generations import active_folders, damaged_plugins, load_manifest, roll_back
from plugin_store.installation import install
from plugin_store.listing import listed_plugins
from plugin_store.manifest import PluginState
from plugin_store.plugin_requests import InstallMode, InstallOptions, InstallReport, PluginRequest
from plugin_store.progress import Step
from plugin_store.sources import LocalFile
from plugin_store.store_lock import exclusive
from tests.unit.plugin_store.archives import tar_gz
from tests.unit.plugin_store.installations import (
    NOW,
    Bytes,
    expected,
    files_of,
    install_version,
    installed,
    request,
    requests_of,
)

BEST_EFFORT = InstallOptions(mode=InstallMode.BEST_EFFORT)


def run(root: Path, requests: list[PluginRequest], **options: Any) -> InstallReport:
    return install(root, requests, now=NOW, options=InstallOptions(**options))


def test_every_plugin_is_installed_under_its_version_and_digest(tmp_path: Path) -> None:
    report = install_version(tmp_path, "1")

    assert installed(tmp_path) == expected("1")
    assert report.installed == ("bq2bq", "transporter")
    sha256 = report.generation.plugins[0].sha256
    assert active_folders(tmp_path)["bq2bq"] == tmp_path / "store" / "bq2bq" / f"1-{sha256[:12]}"
    assert [plugin.state for plugin in listed_plugins(load_manifest(tmp_path))] == ["active", "active"]


def test_a_plugin_without_a_version_has_one_of_its_digest(tmp_path: Path) -> None:
    (plugin,) = run(tmp_path, [replace(request("bq2bq", "1"), version=None)]).generation.plugins

    assert plugin.version == f"0+{plugin.sha256[:12]}"
    assert plugin.folder == f"bq2bq/0-{plugin.sha256[:12]}-{plugin.sha256[:12]}"


def test_a_second_run_reads_no_source_and_writes_nothing(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    before = (tmp_path / "manifest.json").stat()
    again = requests_of("1")

    report = run(tmp_path, again)

    assert report.unchanged == ("bq2bq", "transporter")
    assert [item.source.opened for item in again if isinstance(item.source, Bytes)] == [0, 0]
    assert (tmp_path / "manifest.json").stat().st_ino == before.st_ino


def test_a_second_run_without_a_checksum_reads_but_writes_nothing(tmp_path: Path) -> None:
    wanted = [request("bq2bq", "1", checksum=None, unverified_reason="a local experiment")]
    run(tmp_path, wanted)
    before = (tmp_path / "manifest.json").stat()

    run(tmp_path, wanted)

    assert wanted[0].source == Bytes(wanted[0].source.content, opened=2)  # type: ignore[attr-defined]
    assert (tmp_path / "manifest.json").stat().st_ino == before.st_ino
    assert load_manifest(tmp_path).current.plugins[0].unverified_reason == "a local experiment"


def test_a_plugin_that_is_no_longer_requested_is_no_longer_active(tmp_path: Path) -> None:
    install_version(tmp_path, "1")

    report = run(tmp_path, [request("bq2bq", "1")])

    assert report.removed == ("transporter",)
    assert installed(tmp_path) == expected("1", ["bq2bq"])


def test_going_back_to_an_earlier_version_reads_no_source(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    install_version(tmp_path, "2")
    back = requests_of("1")

    run(tmp_path, back)

    assert installed(tmp_path) == expected("1")
    assert [item.source.opened for item in back if isinstance(item.source, Bytes)] == [0, 0]


def bad_requests() -> dict[str, tuple[dict[str, Any], str]]:
    good = request("bq2bq", "2")
    content = good.source.content  # type: ignore[attr-defined]
    page = b"<!DOCTYPE html>Not Found"
    return {
        "checksum": ({"checksum": Checksum("sha256", "0" * 64)}, "sha256"),
        "sha512": ({"checksum": Checksum("sha512", "0" * 128)}, "sha512"),
        "tree": ({"tree": "0" * 64}, "tree digest"),
        "size": ({"size": len(content) + 1}, "size"),
        "truncated": ({"source": Bytes(content[:-9], size=len(content))}, "size"),
        "page": ({"source": Bytes(page), "checksum": None, "unverified_reason": "x"}, "web page"),
        "no checksum": ({"checksum": None}, "no checksum"),
        "name": ({"name": "Bad"}, "Invalid plugin name"),
        "suffix": ({"file_name": "a.rar"}, "suffix"),
        "missing": ({"source": LocalFile(Path("/nowhere/a.tar.gz"))}, "cannot be read"),
    }


@pytest.mark.parametrize("case", bad_requests())
def test_strict_installs_nothing_when_a_plugin_fails(tmp_path: Path, case: str) -> None:
    install_version(tmp_path, "1")
    before = (tmp_path / "manifest.json").read_bytes()
    changes, text = bad_requests()[case]

    with pytest.raises(InstallationFailed, match=text):
        run(tmp_path, [replace(request("bq2bq", "2"), **changes), request("transporter", "2")])

    assert (tmp_path / "manifest.json").read_bytes() == before
    assert installed(tmp_path) == expected("1")
    assert list((tmp_path / ".staging").iterdir()) == []


@pytest.mark.parametrize("case", sorted(set(bad_requests()) - {"name"}))
def test_best_effort_keeps_the_previous_version_of_a_failed_plugin(tmp_path: Path, case: str) -> None:
    install_version(tmp_path, "1")
    changes, text = bad_requests()[case]
    wanted = [replace(request("bq2bq", "2"), **changes), request("transporter", "2")]

    report = run(tmp_path, wanted, mode=InstallMode.BEST_EFFORT)

    assert installed(tmp_path) == expected("1", ["bq2bq"]) | expected("2", ["transporter"])
    assert text in report.failures["bq2bq"]
    (degraded, active) = load_manifest(tmp_path).current.plugins
    assert (degraded.state, active.state) == (PluginState.DEGRADED, PluginState.ACTIVE)
    assert text in degraded.problem
    assert list((tmp_path / ".staging").iterdir()) == []


def test_best_effort_leaves_out_a_plugin_that_has_no_previous_version(tmp_path: Path) -> None:
    wanted = [request("bq2bq", "1", checksum=Checksum("sha256", "0" * 64)), request("transporter", "1")]

    report = run(tmp_path, wanted, mode=InstallMode.BEST_EFFORT)

    assert installed(tmp_path) == expected("1", ["transporter"])
    assert set(report.failures) == {"bq2bq"}


def test_a_degraded_plugin_recovers(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    bad = request("bq2bq", "2", checksum=Checksum("sha256", "0" * 64))
    run(tmp_path, [bad, request("transporter", "1")], mode=InstallMode.BEST_EFFORT)

    run(tmp_path, requests_of("2"))

    assert {plugin.state for plugin in load_manifest(tmp_path).current.plugins} == {PluginState.ACTIVE}
    assert installed(tmp_path) == expected("2")


def test_a_folder_with_changed_files_is_replaced_beside_it(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    damaged = active_folders(tmp_path)["bq2bq"]
    (damaged / "plugin.yaml").write_text("edited")

    install_version(tmp_path, "1")

    assert installed(tmp_path) == expected("1")
    assert active_folders(tmp_path)["bq2bq"].name == f"{damaged.name}-r1"
    assert (damaged / "plugin.yaml").read_text() == "edited"


def test_a_foreign_folder_in_the_place_of_a_plugin_is_neither_used_nor_removed(tmp_path: Path) -> None:
    (plugin,) = run(tmp_path / "other", [request("bq2bq", "1")]).generation.plugins
    foreign = tmp_path / "store" / plugin.folder
    foreign.mkdir(parents=True)
    (foreign / "mine").write_text("x")

    run(tmp_path, [request("bq2bq", "1")])

    assert installed(tmp_path) == expected("1", ["bq2bq"])
    assert (foreign / "mine").read_text() == "x"


@pytest.mark.parametrize("path", ["store", ".staging", "store/bq2bq", "manifest.json", ".lock"])
def test_a_link_in_the_store_is_refused(tmp_path: Path, path: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (root / path).parent.mkdir(parents=True)
    (root / path).symlink_to(outside)

    with pytest.raises(StoreDamaged):
        run(root, [request("bq2bq", "1")])

    assert list(outside.iterdir()) == []


def test_rollback_makes_the_previous_set_active_at_once(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    install_version(tmp_path, "2")

    assert roll_back(tmp_path).number == 1
    assert installed(tmp_path) == expected("1")
    assert roll_back(tmp_path, 2).number == 2
    assert installed(tmp_path) == expected("2")
    with pytest.raises(UnknownGeneration, match="These generations are kept: 1, 2"):
        roll_back(tmp_path, 7)


def test_rollback_to_changed_files_is_refused(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    folder = active_folders(tmp_path)["bq2bq"]
    install_version(tmp_path, "2")
    (folder / "extra").write_text("x")

    with pytest.raises(StoreDamaged, match="have changed"):
        roll_back(tmp_path)

    assert installed(tmp_path) == expected("2")


def test_only_so_many_older_generations_are_kept(tmp_path: Path) -> None:
    for version in "1234":
        install_version(tmp_path, version, keep=2)

    manifest = load_manifest(tmp_path)
    assert [generation.number for generation in manifest.generations] == [2, 3, 4]
    assert [item.folder.split("/")[1][:2] for item in manifest.unused] == ["1-", "1-"]


def test_a_store_that_another_process_changes_is_busy(tmp_path: Path) -> None:
    install_version(tmp_path, "1")

    with exclusive(tmp_path / ".lock", timeout=0), pytest.raises(StoreBusy, match="try again"):
        install_version(tmp_path, "2", lock_seconds=0.05)

    assert installed(tmp_path) == expected("1")


def test_a_bare_yaml_file_has_the_name_of_its_plugin(tmp_path: Path) -> None:
    source = Bytes(b"name: bq\n")
    checksum = Checksum("sha256", hashlib.sha256(source.content).hexdigest())

    run(tmp_path, [PluginRequest("bq", "local", "other.yaml", source, checksum=checksum)])

    assert installed(tmp_path) == {"bq": {"bq.yaml": b"name: bq\n"}}


def test_a_plugin_with_changed_files_is_listed_as_damaged(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    assert damaged_plugins(tmp_path) == frozenset()
    (active_folders(tmp_path)["bq2bq"] / "plugin.yaml").chmod(0o755)

    listed = listed_plugins(load_manifest(tmp_path), damaged_plugins(tmp_path))

    assert [plugin.state for plugin in listed] == ["damaged", "active"]


def test_the_same_plugin_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidName, match="requested twice"):
        run(tmp_path, [request("bq2bq", "1"), request("bq2bq", "2")])


def test_checksums_of_subresource_integrity_are_compared(tmp_path: Path) -> None:
    archive = tar_gz(files_of("bq2bq", "1"))
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()

    run(tmp_path, [request("bq2bq", "1", checksum=parse_checksum(f"sha512-{digest}"))])

    assert installed(tmp_path) == expected("1", ["bq2bq"])


def test_a_source_that_fails_degrades_its_plugin_only(tmp_path: Path) -> None:
    def fail() -> None:
        raise SourceFailed("The archive cannot be fetched.", why="Timeout.", advice="Try again.")

    install_version(tmp_path, "1")
    source = Bytes(b"", on_read=[fail])
    wanted = [request("bq2bq", "2", source=source), request("transporter", "2")]

    report = install(tmp_path, wanted, now=NOW, options=BEST_EFFORT)

    assert report.failures == {"bq2bq": "The archive cannot be fetched. Timeout. Try again."}


def test_progress_is_reported_for_each_plugin(tmp_path: Path) -> None:
    steps: list[tuple[Step, str]] = []

    install(tmp_path, requests_of("1"), now=NOW, progress=lambda step, plugin: steps.append((step, plugin)))

    assert {step for step, _ in steps} == set(Step)
    assert (Step.FLUSHED, "transporter") in steps


def test_what_an_interrupted_run_left_is_gone_before_more_is_written(tmp_path: Path) -> None:
    left = tmp_path / ".staging" / ("a" * 32)
    left.mkdir(parents=True)
    leftovers: list[bool] = []

    install(
        tmp_path, requests_of("1"), now=NOW, progress=lambda step, plugin: leftovers.append(left.exists())
    )

    assert leftovers == [True] + [False] * (len(leftovers) - 1)


def test_the_old_manifest_is_there_until_it_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_version(tmp_path, "1")
    before: list[dict[str, Any]] = []
    replace_file = os.replace

    def replace_after_a_look(source: Path, target: Path) -> None:
        before.append(installed(tmp_path))
        replace_file(source, target)

    monkeypatch.setattr(os, "replace", replace_after_a_look)
    install_version(tmp_path, "2")

    assert before == [expected("1")] * 2
