"""An installer that is killed leaves the whole old set or the whole new one, and the next run completes."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plugin_store.cleaning import clean
from plugin_store.generations import load_manifest
from plugin_store.progress import Step
from tests.support.paths import ROOT
from tests.support.properties import NIGHTLY
from tests.unit.plugin_store.installations import NAMES, expected, install_version, installed

FOR_EACH_PLUGIN = (Step.COPIED, Step.VERIFIED, Step.EXTRACTED, Step.FLUSHED, Step.PLACED)
KILLS = [(step, count) for step in Step for count in ((1, 2) if step in FOR_EACH_PLUGIN else (1,))]
RANDOM_KILLS = 100 if NIGHTLY else 4


def installer(root: Path, *arguments: str) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "tests.unit.plugin_store.installations", str(root), *arguments]
    return subprocess.Popen(program, cwd=ROOT)


class Installers:
    """A program that starts an installer for each call."""

    def __init__(self) -> None:
        program = [sys.executable, "-m", "tests.unit.plugin_store.installations"]
        self._process = subprocess.Popen(
            program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *arguments: str) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\t".join(arguments) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def installers() -> Iterator[Installers]:
    installers = Installers()
    yield installers
    installers.stop()


def check_after_a_crash(root: Path) -> None:
    """Nothing is mixed, every folder has an owner, and the next run completes and leaves nothing over."""
    assert installed(root) in ({}, expected("1"), expected("2"))
    assert clean(root, is_dry_run=True).foreign == ()

    install_version(root, "2")

    assert installed(root) == expected("2")
    assert list((root / ".staging").iterdir()) == []
    used = load_manifest(root).folders()
    clean(root)
    kept = {path.relative_to(root / "store").as_posix() for path in (root / "store").glob("*/*")}
    assert kept == set(used)


@pytest.mark.parametrize(("step", "count"), KILLS)
@pytest.mark.parametrize("has_old", [True, False])
def test_kill_at_each_step(
    tmp_path: Path, installers: Installers, step: Step, count: int, has_old: bool
) -> None:
    if has_old:
        install_version(tmp_path, "1")

    assert installers.run(str(tmp_path), "2", step, str(count)) == -signal.SIGKILL

    old = expected("1") if has_old else {}
    assert installed(tmp_path) == (expected("2") if step is Step.SWITCHED else old)
    check_after_a_crash(tmp_path)


def test_kill_at_any_time(tmp_path: Path) -> None:
    install_version(tmp_path, "1")
    began = time.monotonic()
    assert installer(tmp_path / "whole", "2").wait(30) == 0
    duration = time.monotonic() - began

    for number in range(RANDOM_KILLS):
        root = tmp_path / str(number)
        install_version(root, "1")
        process = installer(root, "2")
        time.sleep(duration * random.uniform(0.6, 1.0))
        process.kill()
        process.wait(30)

        check_after_a_crash(root)


def test_a_reader_never_sees_a_mixed_set(tmp_path: Path) -> None:
    install_version(tmp_path, "0")
    seen: list[str] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            files = installed(tmp_path)
            versions = {files.get(name, {}).get("a/q.sql", b"?")[:1].decode() for name in NAMES}
            seen.append("".join(sorted(versions)))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 10):
        install_version(tmp_path, str(number), keep=20)
    is_over.set()
    reader.join()

    assert {len(versions) for versions in seen} == {1}
    assert "?" not in seen
    assert len(set(seen)) > 1
    assert seen == sorted(seen)


def test_two_installers_at_once_in_two_processes(tmp_path: Path) -> None:
    processes = [installer(tmp_path, version) for version in ("1", "2")]

    assert [process.wait(30) for process in processes] == [0, 0]
    assert installed(tmp_path) in (expected("1"), expected("2"))
    assert [item.number for item in load_manifest(tmp_path).generations] == [1, 2]
    assert list((tmp_path / ".staging").iterdir()) == []
