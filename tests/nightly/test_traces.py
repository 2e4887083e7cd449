"""Traces of Celery with a real worker and beat: a task goes on with the trace of whoever sent it."""

from __future__ import annotations

import sys

from controlplane.local.programs import Program, start, stop_all
from tests.conftest import as_application
from tests.support.trace_collector import Collector

_CELERY = (sys.executable, "-m", "celery", "-A", "controlplane")
_TASK = "registry.sweep_leases"


def test_a_task_of_beat_is_one_trace_with_its_run_in_a_worker(live, tmp_path):
    with Collector() as collector:
        settings = {**collector.environment, "OTEL_TRACES_SAMPLER_ARG": "1"}
        # Apart from those of the running system, which record nothing.
        environment = {**live.environment, **settings, "REDIS_URL": f"{live.environment['REDIS_URL'][:-1]}7"}
        worker = (*_CELERY, "worker", "--without-gossip", "--concurrency", "2", "-l", "WARNING")
        beat = (*_CELERY, "beat", "--schedule", str(tmp_path / "beat"), "--pidfile", "", "-l", "WARNING")
        running = [
            start(Program(name, command, tmp_path / f"{name}.log", as_application(environment, name)))
            for name, command in {"worker": worker, "beat": beat}.items()
        ]
        try:
            ran = collector.wait(f"run/{_TASK}", "controlplane-worker", 90)
            sent = collector.wait(f"apply_async/{_TASK}", "controlplane-beat", 10)
        finally:
            stop_all(running, patience=15)
    assert ran.trace in {span.trace for span in collector.named(f"apply_async/{_TASK}")}
    assert ran.parent in {span.id for span in collector.named(f"apply_async/{_TASK}")}
    statements = [span for span in collector.spans if span.trace == ran.trace and span.kind == 3]
    assert statements
    assert {span.service for span in statements} == {"controlplane-worker"}
    assert sent.parent == ""
