"""Interleaved rounds: every contender is up, and each round asks all of them one after the other.

Ratios are made inside a round and their median is taken, so that what else the machine does hits both
sides alike. A round with more than one busy core that is not ours is repeated, three times at most.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from benchmarks import load
from benchmarks.load import Load, Measured
from benchmarks.machine import CLIENT_CPUS, busy_seconds, seconds_of

_FOREIGN_CORES = 1.0
_REPEATS = 3


@dataclass(slots=True)
class Contender:
    """web, database: the processes whose processor time is counted. cold: each request is sent once.

    drive: another client than ours. It gets the seconds to measure and to warm up.
    """

    name: str
    port: int
    requests: Sequence[bytes]
    connections: int
    web: tuple[int, ...]
    database: tuple[int, ...] = ()
    status: int = 200
    cold: bool = False
    beside: Callable[[float], Callable[[], None]] | None = None
    drive: Callable[[float, float], Measured] | None = None
    results: list[Result] = field(default_factory=list)
    _next: int = 0

    def load(self, seconds: float, warm_up: float) -> Load:
        requests = self.requests
        if self.cold:
            share = len(requests) // 8
            requests = requests[self._next : self._next + share]
            self._next = (self._next + share) % len(self.requests)
        return Load(
            port=self.port,
            requests=requests,
            connections=self.connections,
            seconds=seconds,
            status=self.status,
            warm_up=warm_up,
            cpus=CLIENT_CPUS,
            in_order=self.cold,
        )


@dataclass(frozen=True, slots=True)
class Result:
    """Processor times are microseconds for each answer."""

    measured: Measured
    web: float
    database: float
    foreign_cores: float


def play(
    contenders: Sequence[Contender],
    *,
    rounds: int,
    seconds: float,
    warm_up: float = 1.0,
    repeats: int = _REPEATS,
) -> None:
    for _ in range(rounds):
        for _ in range(repeats):
            results = [_once(contender, seconds, warm_up) for contender in contenders]
            if max(result.foreign_cores for result in results) <= _FOREIGN_CORES:
                break
        for contender, result in zip(contenders, results, strict=True):
            contender.results.append(result)


def _once(contender: Contender, seconds: float, warm_up: float) -> Result:
    end = contender.beside(seconds + warm_up) if contender.beside else None
    roots = {"web": contender.web, "database": contender.database}
    before = {name: seconds_of(pids) for name, pids in roots.items()}
    busy, began, own = busy_seconds(), time.perf_counter(), sum(os.times()[:4])
    if contender.drive:
        measured = contender.drive(seconds, warm_up)
    else:
        measured = load.run(contender.load(seconds, warm_up))
    used = {name: seconds_of(pids) - before[name] for name, pids in roots.items()}
    elapsed = time.perf_counter() - began
    foreign = busy_seconds() - busy - sum(used.values()) - (sum(os.times()[:4]) - own)
    if end:
        end()
    # Processor time is counted over the warm-up too, at about the same rate.
    answers = max(1.0, measured.rate * (seconds + warm_up))
    return Result(measured, used["web"] / answers * 1e6, used["database"] / answers * 1e6, foreign / elapsed)


def rate(contender: Contender) -> float:
    return median(result.measured.rate for result in contender.results)


def ratio(contender: Contender, other: Contender) -> float:
    """Median over the rounds of the rates' ratio inside each round."""
    pairs = zip(contender.results, other.results, strict=True)
    return median(ours.measured.rate / max(1.0, theirs.measured.rate) for ours, theirs in pairs)


def merged(contender: Contender) -> Measured:
    """All rounds as one measurement, for percentiles and errors."""
    whole = Measured()
    for result in contender.results:
        whole = replace(
            whole,
            answers=whole.answers + result.measured.answers,
            errors=whole.errors + result.measured.errors,
            seconds=whole.seconds + result.measured.seconds,
            latencies=whole.latencies + result.measured.latencies,
        )
    return whole


def processor(contender: Contender) -> tuple[float, float]:
    return median(result.web for result in contender.results), median(
        result.database for result in contender.results
    )
