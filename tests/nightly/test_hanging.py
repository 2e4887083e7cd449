"""A web worker that hangs, alive, is replaced; so is a web process that answers nothing at all."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launcher import Up
from tests.support.waiting import is_reachable, until

HANG_SECONDS = 3


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    running = Up(tmp_path / "data", "--no-demo", WEB_HANG_SECONDS=str(HANG_SECONDS))
    try:
        running.wait_for("Ctrl-C stops everything.", seconds=120)
        yield running
    finally:
        running.stop(signal.SIGKILL)


def web_processes(up: Up) -> tuple[int, set[int]]:
    """granian's main process, which leads a session, and its workers."""
    ours = {pid for pid, words in up.children().items() if "controlplane.serving" in words}
    (main,) = [pid for pid in ours if os.getsid(pid) == pid]
    return main, ours - {main}


def wait_until_replaced(up: Up, victims: set[int], *, count: int, seconds: float) -> None:
    def are_replaced() -> bool:
        workers = web_processes_or_none(up)
        return not workers & victims and len(workers) >= count

    until(are_replaced, seconds, lambda: (up.data_dir / "logs" / "web.log").read_text()[-4000:], pause=0.1)


def web_processes_or_none(up: Up) -> set[int]:
    try:
        return web_processes(up)[1]
    except ValueError:  # the main process is being replaced
        return set()


def answers(up: Up, times: int) -> bool:
    """Each time by a connection of its own, so that every worker gets some."""
    return all(is_reachable(f"{up.url}/livez") for _ in range(times))


def test_whoever_hangs_is_replaced_and_nobody_else(up: Up) -> None:
    main, workers = web_processes(up)
    assert len(workers) == 2
    victim, bystander = sorted(workers)

    # One of several workers behind one port: the port still answers, now and then.
    os.kill(victim, signal.SIGSTOP)
    wait_until_replaced(up, {victim}, count=2, seconds=60)

    now, left = web_processes(up)
    assert now == main
    assert bystander in left
    log = (up.data_dir / "logs" / "web.log").read_text()
    assert f"Web worker {victim} did not respond for {HANG_SECONDS} s and was stopped." in log
    assert answers(up, 30)
    assert "web did not respond" not in up.output

    # All of it, with the process that would start others.
    os.kill(main, signal.SIGSTOP)
    for worker in web_processes(up)[1]:
        os.kill(worker, signal.SIGSTOP)
    up.wait_for(f"web did not respond for {2 * HANG_SECONDS} s and was stopped. Restart", 40)
    wait_until_replaced(up, {main, *left}, count=2, seconds=40)
    until(lambda: answers(up, 30), 30)
