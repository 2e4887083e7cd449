"""When a worker of the web process counts as hung. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

# A watcher that did not run itself, on a machine that sleeps or is overloaded, learned nothing meanwhile.
LONGEST_STEP_SECONDS = 1.0
# Where restarts did not help, the machine is slow: each one within this time doubles the patience.
REMEMBERED_SECONDS = 3600.0
LONGEST_PATIENCE_SECONDS = 600.0


def add_silence(silences: Mapping[int, float], heard: Collection[int], *, elapsed: float) -> dict[int, float]:
    """Seconds of silence of each worker, by process id. elapsed: seconds since the previous call."""
    step = min(max(elapsed, 0.0), LONGEST_STEP_SECONDS)
    longer = {worker: silence + step for worker, silence in silences.items()}
    return longer | dict.fromkeys(heard, 0.0)


def patience(seconds: float, *, restarts: Iterable[float], now: float) -> float:
    """Seconds of silence after which a worker is hung. restarts: when earlier ones were ended."""
    recent = sum(1 for at in restarts if now - at < REMEMBERED_SECONDS)
    return min(seconds * 2.0**recent, max(seconds, LONGEST_PATIENCE_SECONDS))


def hung_workers(silences: Mapping[int, float], *, patience: float) -> list[int]:
    return sorted(worker for worker, silence in silences.items() if silence > patience)
