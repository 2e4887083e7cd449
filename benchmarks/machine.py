"""The machine: who uses its processors, how much memory a process holds, what it is."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
CPUS = tuple(sorted(os.sched_getaffinity(0)))
# The client has the last one for itself; servers and database share the others.
CLIENT_CPUS = CPUS[-1:] if len(CPUS) > 1 else CPUS
SERVER_CPUS = CPUS[:-1] if len(CPUS) > 1 else CPUS


@dataclass(frozen=True, slots=True)
class Process:
    parent: int
    seconds: float
    memory: int


def processes() -> dict[int, Process]:
    processes = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            # With those of children that have ended, or their time would seem to be given back.
            seconds = sum(int(field) for field in fields[11:15]) / _TICKS
            processes[int(entry.name)] = Process(int(fields[1]), seconds, int(fields[21]) * _PAGE)
    return processes


def family(root: int, among: dict[int, Process]) -> set[int]:
    """The process and all its descendants."""
    members, grew = {root}, True
    while grew:
        more = {pid for pid, process in among.items() if process.parent in members} - members
        members |= more
        grew = bool(more)
    return members


def seconds_of(roots: Iterable[int]) -> float:
    """Processor time that these processes and their children have used so far."""
    among = processes()
    members = set().union(*(family(root, among) for root in roots)) if roots else set()
    return sum(among[pid].seconds for pid in members if pid in among)


def memory_of(roots: Iterable[int]) -> int:
    """Bytes of resident memory; what processes share is counted in each."""
    among = processes()
    members = set().union(*(family(root, among) for root in roots)) if roots else set()
    return sum(among[pid].memory for pid in members if pid in among)


def busy_seconds() -> float:
    """Processor time that everybody on the machine has used so far."""
    fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / _TICKS


def description() -> str:
    memory = os.sysconf("SC_PHYS_PAGES") * _PAGE / 2**30
    return (
        f"{len(CPUS)} cores ({_processor()}), {memory:.0f} GiB, {platform.system()} "
        f"{platform.release().partition('-')[0]}, Python {platform.python_version()}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
