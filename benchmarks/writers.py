"""Writes that land while others read: real ones, through the domain function, in a process of their own."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Callable, Mapping
from multiprocessing.synchronize import Event

from benchmarks.dataset import Dataset
from benchmarks.machine import SERVER_CPUS

_SPAWN = multiprocessing.get_context("spawn")


def writing(
    environment: Mapping[str, str], dataset: Dataset, per_second: int
) -> Callable[[float], Callable[[], None]]:
    """Start to write at this rate; what comes back ends it. Workflows are drawn at random."""

    def begin(seconds: float) -> Callable[[], None]:
        end = _SPAWN.Event()
        started = _SPAWN.Event()
        process = _SPAWN.Process(
            target=_write, args=(dict(environment), dataset, per_second, started, end), daemon=True
        )
        process.start()
        started.wait(20)

        def stop() -> None:
            end.set()
            process.join(10)

        return stop

    return begin


def _write(
    environment: Mapping[str, str], dataset: Dataset, per_second: int, started: Event, end: Event
) -> None:
    os.environ.update(environment)
    os.sched_setaffinity(0, SERVER_CPUS)
    import django

    django.setup()
    from controlplane.identity.actors import system
    from controlplane.scopes import Scope
    from overrides.editing.writes import put_override
    from overrides.resolution.addresses import Address

    actor, number, began = system("benchmark"), 0, time.perf_counter()
    started.set()
    while not end.is_set():
        project, domain, workflow = dataset.workflow(random.randrange(dataset.workflows))
        scope = Scope(project=project, domain=domain, workflow=workflow)
        put_override(
            Address("execution_queue", scope), {"tags": [f"t{number}", str(random.random())]}, actor=actor
        )
        number += 1
        end.wait(max(0.0, began + number / per_second - time.perf_counter()))
