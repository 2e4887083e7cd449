"""Detection of hung web workers. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

# While the watcher itself does not run, on a suspended or overloaded machine, no silence is counted.
LONGEST_STEP_SECONDS = 1.0
# If restarts do not help, the machine is slow: each restart within this time doubles the patience.
REMEMBERED_SECONDS = 3600.0
LONGEST_PATIENCE_SECONDS = 600.0


def add_silence(silences: Mapping[int, float], heard: Collection[int], *, elapsed: float) -> dict[int, float]:
    """Return the seconds of silence by worker process id. elapsed: seconds since the previous call."""
    step = min(max(elapsed, 0.0), LONGEST_STEP_SECONDS)
    longer = {worker: silence + step for worker, silence in silences.items()}
    return longer | dict.fromkeys(heard, 0.0)


def patience(seconds: float, *, restarts: Iterable[float], now: float) -> float:
    """Return the seconds of silence after which a worker is hung. restarts: times of earlier restarts."""
    recent = sum(1 for at in restarts if now - at < REMEMBERED_SECONDS)
    return min(seconds * 2.0**recent, max(seconds, LONGEST_PATIENCE_SECONDS))


def hung_workers(silences: Mapping[int, float], *, patience: float) -> list[int]:
    return sorted(worker for worker, silence in silences.items() if silence > patience)
