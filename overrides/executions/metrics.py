"""Prometheus metrics of Flyte's executions, from the events of its engine."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from django.db import transaction
from prometheus_client import Counter, Histogram

from overrides.executions.phases import Subject, is_terminal
from overrides.executions.reports import Report

# Phases of Flyte's WorkflowExecution; other texts cannot be parsed.
PHASES = (
    *("UNDEFINED", "QUEUED", "RUNNING", "SUCCEEDING", "SUCCEEDED"),
    *("FAILING", "FAILED", "ABORTED", "TIMED_OUT", "ABORTING"),
)
_BUCKETS = (0.1, 1, 5, 30, 120, 600, 3600, 21600, 86400)
EXECUTIONS = Counter("cp_flyte_executions_total", "Phases that executions have entered.", ["phase"])
WORKFLOW_SECONDS = Histogram(
    "cp_flyte_workflow_seconds",
    "Time between the arrivals of an execution's first and last event, by its last phase.",
    ["phase"],
    buckets=_BUCKETS,
)
PHASE_SECONDS = Histogram(
    "cp_flyte_workflow_phase_seconds",
    "How long executions were in a phase, by Flyte's clock: QUEUED is its acceptance, SUCCEEDING or FAILING"
    " its completion.",
    ["phase"],
    buckets=_BUCKETS,
)


def count_phase(report: Report, *, before: str, entered_at: datetime | None, seconds: float) -> None:
    """Count a workflow's new phase once it is committed.

    before: its phase until then. entered_at: when it entered that. seconds: since its first event arrived.
    """
    if report.phase in PHASES:
        transaction.on_commit(partial(_count, report, before, entered_at, seconds))


def _count(report: Report, before: str, entered_at: datetime | None, seconds: float) -> None:
    EXECUTIONS.labels(report.phase).inc()
    if entered_at and report.occurred_at and before in PHASES:
        PHASE_SECONDS.labels(before).observe(max((report.occurred_at - entered_at).total_seconds(), 0.0))
    if is_terminal(Subject.WORKFLOW, report.phase):
        WORKFLOW_SECONDS.labels(report.phase).observe(seconds)
