"""Metrics of Celery's tasks, counted in the process that runs them."""

from __future__ import annotations

import time
from typing import Any

from celery.signals import task_postrun, task_prerun
from prometheus_client import Counter, Histogram

# Another delivery of a task whose process was killed is the first that counts.
TASKS = Counter("cp_task_total", "Tasks that have ended.", ["task", "result"])
TASK_SECONDS = Histogram(
    "cp_task_duration_seconds",
    "How long tasks ran.",
    ["task"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 5, 30, 300),
)
_RESULTS = {"SUCCESS": "success", "FAILURE": "failure", "RETRY": "retry", "IGNORED": "ignored"}
_OTHER = "other"
# A process runs one task at a time.
_began: dict[str, float] = {}


def measure_tasks() -> None:
    """Count the tasks of this process and of those that it forks."""
    task_prerun.connect(_begin, weak=False)
    task_postrun.connect(_end, weak=False)


def _begin(task_id: str, **_: Any) -> None:
    _began.clear()
    _began[task_id] = time.perf_counter()


def _end(task_id: str, task: Any, state: str | None = None, **_: Any) -> None:
    TASKS.labels(task.name, _RESULTS.get(state or "", _OTHER)).inc()
    began = _began.pop(task_id, None)
    if began is not None:
        TASK_SECONDS.labels(task.name).observe(time.perf_counter() - began)
