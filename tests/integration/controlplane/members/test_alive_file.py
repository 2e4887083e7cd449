"""The file that shows probes that the worker's loop runs."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest
from kombu.asynchronous.timer import Timer

from controlplane.members import alive_file
from controlplane.members.alive_file import AliveFile


@pytest.fixture
def path(tmp_path, settings):
    path = tmp_path / "alive"
    settings.WORKER_ALIVE_FILE = str(path)
    return path


def test_the_timer_of_the_loop_touches_the_file_again(path, monkeypatch):
    monkeypatch.setattr(alive_file, "_SECONDS", 0.01)
    worker = SimpleNamespace(timer=Timer())
    step = AliveFile(worker)

    step.start(worker)
    os.utime(path, (0, 0))
    for _ in range(2):
        time.sleep(0.02)
        _, entry = next(iter(worker.timer))
        if entry:
            entry()

    assert path.stat().st_mtime > 0

    step.stop(worker)
    assert not path.exists()


def test_without_a_path_there_is_no_file(settings):
    settings.WORKER_ALIVE_FILE = ""
    worker = SimpleNamespace(timer=Timer())

    assert not AliveFile(worker).include_if(worker)
