"""Decisions of `cpctl plugins`, and its distribution."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from cpctl.errors import UsageError
from cpctl.plugins.archives import lock_name, place_of
from cpctl.plugins.folders import folder_for
from cpctl.plugins.installation_plan import drift_lines, plan_installation
from cpctl.plugins.locks import changed_lines, lock_differences, updated_lock
from cpctl.plugins.modes import Mode, chosen_mode
from cpctl.plugins.server_mode import document_changes, release_before, require_checksums, with_updates
from plugin_store.lock_document import LockDocument, LockedPlugin
from plugin_store.manifest import Generation, InstalledPlugin, Manifest, PluginState
from tests.support.paths import ROOT


def locked(name: str, version: str = "1", digit: str = "a", **changes: object) -> LockedPlugin:
    plugin = LockedPlugin(
        name,
        version,
        "artifacts",
        f"https://x/{name}.zip",
        10,
        digit * 64,
        "b" * 64,
        "any",
        None,
        "",
        "c" * 64,
    )
    return replace(plugin, **changes)  # type: ignore[arg-type]


def lock(*plugins: LockedPlugin) -> LockDocument:
    return LockDocument("controlplane", "0" * 64, plugins)


def installed(plugin: LockedPlugin, **changes: object) -> InstalledPlugin:
    version = plugin.version or ""
    row = InstalledPlugin(
        plugin.name, version, plugin.provider, f"{plugin.name}/{version}-{'a' * 12}", plugin.size,
        plugin.sha256, plugin.tree, "", "", "",
    )  # fmt: skip
    return replace(row, **changes)  # type: ignore[arg-type]


def manifest(*generations: list[InstalledPlugin]) -> Manifest:
    rows = tuple(Generation(number, "", tuple(one)) for number, one in enumerate(generations, start=1))
    return Manifest(len(rows), rows)


@pytest.mark.parametrize(
    ("option", "variable", "context", "mode"),
    [
        ("server", "client", "client", Mode.SERVER),
        ("", "client", "server", Mode.CLIENT),
        ("", "", "server", Mode.SERVER),
    ],
)
def test_the_option_decides_about_the_mode_then_the_environment_then_the_context(
    option, variable, context, mode
):
    assert chosen_mode(option, variable, context) is mode


@pytest.mark.parametrize("text", ["", "both"])
def test_a_mode_is_mandatory(text):
    with pytest.raises(UsageError):
        chosen_mode("", text, "")


@pytest.mark.parametrize(
    ("server", "team", "folder"),
    [
        ("https://cp.example.com", "", "cp.example.com/_default"),
        ("https://cp.example.com", "ml", "cp.example.com/ml"),
        ("http://127.0.0.1:8000", "", "127.0.0.1-8000/_default"),
        ("https://example.com/cp/a", "", "example.com-cp-a/_default"),
        ("https://example.com/../../etc", "", "example.com-..-..-etc/_default"),
        ("http://user:secret@[::1]:80", "", "--1-80/_default"),
    ],
)
def test_each_server_and_team_has_a_folder(server, team, folder):
    assert folder_for(Path("base"), server, team) == Path("base") / folder


def test_a_plan_fetches_what_no_generation_has_intact():
    old, new = locked("a", digit="1"), locked("a", "2", "2")
    state = manifest([installed(new)], [installed(old)])

    back = plan_installation(lock(new), state, lambda plugin: True)
    damaged = plan_installation(lock(new), state, lambda plugin: False)

    assert (back.missing, back.changed, back.is_current) == ((), ("a",), False)
    assert (damaged.missing, damaged.bytes) == ((new,), 10)


def test_a_plan_without_changes_is_current():
    plugin = locked("a")

    assert plan_installation(lock(plugin), manifest([installed(plugin)]), lambda plugin: True).is_current
    assert not plan_installation(lock(), Manifest(), lambda plugin: True).is_current


def test_a_degraded_plugin_and_an_extra_one_are_changes():
    plugin, extra = locked("a"), locked("b")
    state = manifest([installed(plugin, state=PluginState.DEGRADED), installed(extra)])

    plan = plan_installation(lock(plugin), state, lambda plugin: True)

    assert (plan.missing, plan.changed, plan.removed, plan.is_current) == ((), ("a",), ("b",), False)


def test_an_archive_of_two_plugins_is_counted_once():
    plan = plan_installation(lock(locked("a"), locked("b")), Manifest(), lambda plugin: True)

    assert (len(plan.missing), plan.bytes) == (2, 10)


def test_drift_of_what_is_installed():
    lines = drift_lines(lock(locked("a"), locked("b")), [installed(locked("b", "9")), installed(locked("c"))])

    assert lines == [
        "a: in the lock, but not installed",
        "b: 9 is installed, and the lock has 1",
        "c: installed, but not in the lock",
    ]


def test_an_update_of_a_lock_keeps_what_was_not_named():
    written, served = lock(locked("a"), locked("gone")), lock(locked("a", "2", "2"), locked("new"))

    kept_lock = updated_lock(written, served, frozenset())
    upgraded = updated_lock(written, served, frozenset({"a"}))

    assert [plugin.version for plugin in kept_lock.plugins] == ["1", "1"]
    assert changed_lines(written, kept_lock) == ["- gone", "+ new 1"]
    assert upgraded == updated_lock(written, served, None) == served
    with pytest.raises(UsageError, match="no plugin 'typo'"):
        updated_lock(written, served, frozenset({"typo"}))


def test_differences_of_locks_name_the_version_of_the_server():
    written, served = lock(locked("a"), locked("b")), lock(locked("a", "2", "2"), locked("c"))

    assert lock_differences(written, served) == [
        "a: the server has 2, with another digest",
        "b is in the file only",
        "c 1 is not in the file",
    ]
    assert lock_differences(written, written) == []


def test_a_mirror_is_addressed_by_content():
    assert place_of("ab" * 32) == f"sha256/ab/{'ab' * 32}"
    assert (lock_name(""), lock_name("ml")) == ("plugins.lock.json", "plugins.ml.lock.json")


def test_the_release_to_roll_back_to():
    def release(number: int, state: str, activated_at: str | None = "2026-11-24") -> dict[str, object]:
        return {"number": number, "state": state, "activated_at": activated_at}

    releases = [
        release(5, "superseded"), release(4, "active"), release(3, "failed"),
        release(2, "superseded", None), release(1, "superseded"),
    ]  # fmt: skip
    assert release_before(releases)["number"] == 1
    with pytest.raises(UsageError, match="nothing to roll back to"):
        release_before([release(1, "active")])


def test_changes_of_a_configuration():
    before = {"plugins": {"plugins": [{"output": "a", "version": "1"}, {"output": "b"}, {"output": "c"}]}}
    after = {"plugins": {"plugins": [{"output": "a", "version": "2"}, {"output": "b"}, {"output": "d"}]}}

    assert document_changes(before, after) == ["~ a 2", "- c", "+ d"]
    assert document_changes(None, after) == ["+ a 2", "+ b", "+ d"]


@pytest.mark.parametrize(
    ("entry", "update"),
    [
        ({"checksum": "sha256:" + "a" * 64, "version": "2"}, ""),
        ({"checksum": "sha256:" + "b" * 64, "version": "2"}, "2"),
        ({"checksum": "sha256:" + "b" * 64}, "sha256:bbbbbbbbbbbb"),
        ({"version": "2"}, "2"),
        ({"version": "1"}, ""),
        ({}, ""),
    ],
)
def test_an_update_is_what_is_configured_and_not_released(entry, update):
    plugin = {"name": "a", "team": None, "version": "1", "sha256": "a" * 64}
    document = {"plugins": {"plugins": [{"output": "a", **entry}]}}

    assert with_updates([plugin], {"team": None, "document": document})[0]["update"] == update
    assert with_updates([plugin], {"team": "ml", "document": document})[0]["update"] == ""
    assert with_updates([plugin], None)[0]["update"] == ""


def test_a_disabled_plugin_needs_no_checksum():
    require_checksums({"plugins": {"plugins": [{"output": "a", "enabled": False}]}})
    with pytest.raises(UsageError, match="b"):
        require_checksums({"plugins": {"plugins": [{"output": "b", "enabled": True}]}})


def test_the_distribution_has_every_package():
    tool = tomllib.loads((ROOT / "cpctl" / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent for name in ("cpctl", "plugin_store") for path in (ROOT / name).rglob("*.py")}

    assert set(tool["packages"]) == {
        ".".join(folder.relative_to(ROOT).parts) for folder in folders if "build" not in folder.parts
    }
    places = {name: (ROOT / "cpctl" / place).resolve() for name, place in tool["package-dir"].items()}
    assert places == {"cpctl": ROOT / "cpctl", "plugin_store": ROOT / "plugin_store"}


def test_the_distribution_works_without_the_server_and_without_cryptography(tmp_path):
    tool = tomllib.loads((ROOT / "cpctl" / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package in tool["packages"]:
        target = tmp_path / package.replace(".", "/")
        target.mkdir(exist_ok=True)
        for module in (ROOT / package.replace(".", "/")).glob("*.py"):
            shutil.copy(module, target)
    program = (
        "import sys\n"
        "for name in ('cryptography', 'django', 'controlplane', 'registry'): sys.modules[name] = None\n"
        "import plugin_store; assert plugin_store.__file__.startswith(sys.argv[1]), plugin_store\n"
        "sys.argv = ['cpctl', 'plugins', 'verify', '--root', sys.argv[1]]\n"
        "from cpctl.main import main; main()\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 2
    assert "No plugins are installed" in ran.stderr
