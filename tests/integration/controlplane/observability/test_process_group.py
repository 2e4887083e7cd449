"""Figures of a group of real processes, some of which are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.observability.process_group import families_of_group

# Counts what it is told on each line, and says so.
PROGRAM = """
import sys
from prometheus_client import Counter, Gauge, Histogram

counted = Counter("work_total", "Work.", ["kind"])
used = Gauge("used", "Used.", multiprocess_mode="livesum")
seconds = Histogram("seconds", "Time.", buckets=(1,))
for line in sys.stdin:
    counted.labels("a").inc(float(line))
    seconds.observe(0.5)
    used.set(float(line))
    print("done", flush=True)
"""


class Counting:
    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def count(self, number: float) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def kill(self, *, wait: bool = True) -> None:
        self.process.send_signal(signal.SIGKILL)
        if wait:
            self.process.wait()


@pytest.fixture
def start(tmp_path):
    started = []

    def one():
        started.append(Counting(tmp_path))
        return started[-1]

    yield one
    for each in started:
        each.kill()


def samples(folder: Path) -> dict[str, float]:
    return {
        sample.name + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in families_of_group(folder)
        for sample in family.samples
    }


def test_what_a_killed_process_has_counted_stays_and_what_it_used_is_free(start, tmp_path):
    first, second = start(), start()
    first.count(3)
    second.count(4)
    assert samples(tmp_path) == {
        **{"work_total a": 7, "used": 7},
        **{"seconds_sum": 1, "seconds_bucket 1.0": 2, "seconds_bucket +Inf": 2, "seconds_count": 2},
    }

    first.kill()

    for _ in range(2):  # the second reads what the first has written
        figures = samples(tmp_path)
        assert (figures["work_total a"], figures["used"], figures["seconds_count"]) == (7, 4, 2)
    second.count(1)
    assert samples(tmp_path)["work_total a"] == 8


def test_the_folder_does_not_grow_with_every_process(start, tmp_path):
    for number in range(1, 7):
        each = start()
        each.count(1)
        each.kill()
        assert samples(tmp_path)["work_total a"] == number

    assert {file.name for file in tmp_path.iterdir()} == {"counter_ended.db", "histogram_ended.db", "lock"}


def test_a_process_that_nobody_has_waited_for_has_ended(start, tmp_path):
    each = start()
    each.count(2)
    each.kill(wait=False)
    os.waitid(os.P_PID, each.process.pid, os.WEXITED | os.WNOWAIT)

    assert samples(tmp_path)["work_total a"] == 2
    assert (tmp_path / "counter_ended.db").exists()


def test_many_readers_at_once_lose_and_add_nothing(start, tmp_path):
    for _ in range(6):
        each = start()
        each.count(1)
        each.kill()
    program = (
        "import sys; from pathlib import Path;"
        "from controlplane.observability.process_group import families_of_group;"
        "print([s.value for f in families_of_group(Path(sys.argv[1])) for s in f.samples"
        " if s.name == 'work_total'])"
    )
    readers = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]

    assert [reader.communicate()[0] for reader in readers] == ["[6.0]\n"] * 4
