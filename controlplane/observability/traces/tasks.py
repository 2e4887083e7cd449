"""Spans of Celery's tasks, by its signals: the trace goes from a task's sender to the worker that runs it."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from typing import Any

from celery import signals

from controlplane.observability.traces import exporting, spans
from controlplane.observability.traces.process import start_traces
from controlplane.observability.traces.statements import traced_statements

_running: dict[str, tuple[ExitStack, spans.Span]] = {}


def begin(process: str) -> None:
    """Export the spans of a worker's process or of beat, until it ends."""
    start_traces(process)
    if spans.is_on():
        # Beat has no signal for its end.
        atexit.register(_end)
        signals.worker_process_shutdown.connect(_end, weak=False)
        follow_tasks()


def follow_tasks() -> None:
    """Have tasks that this process sends or runs give spans."""
    for signal, receiver in _receivers():
        signal.connect(receiver, weak=False)


def ignore_tasks() -> None:
    for signal, receiver in _receivers():
        signal.disconnect(receiver)


def _receivers() -> list[tuple[Any, Any]]:
    return [
        (signals.before_task_publish, _send),
        (signals.task_prerun, _run),
        (signals.task_failure, _fail),
        (signals.task_postrun, _finish),
    ]


def _end(**_: Any) -> None:
    exporting.stop()


def _send(sender: str, headers: dict[str, Any], **_: Any) -> None:
    with spans.span(f"apply_async/{sender}", "producer", attributes=_facts(sender)) as span:
        headers["traceparent"] = span.traceparent


def _run(task_id: str, task: Any, **_: Any) -> None:
    request = task.request
    # A message's headers are the request's attributes; of a task that is called at once, they are apart.
    parent = request.get("traceparent") or (request.headers or {}).get("traceparent") or ""
    block = ExitStack()
    span = spans.span(f"run/{task.name}", "consumer", parent=parent, attributes=_facts(task.name))
    block.enter_context(span)
    block.enter_context(traced_statements(span))
    _running[task_id] = block, span


def _fail(task_id: str, exception: BaseException, **_: Any) -> None:
    if running := _running.get(task_id):
        running[1].fail(type(exception).__qualname__)


def _finish(task_id: str, **_: Any) -> None:
    if running := _running.pop(task_id, None):
        running[0].close()


def _facts(task: str) -> dict[str, str]:
    return {"celery.task_name": task}
