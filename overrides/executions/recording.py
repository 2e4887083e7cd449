"""Record what Flyte's engine reports: one transaction per event, and one event of an execution at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

import msgspec
from django.conf import settings
from django.db import connection, transaction

from controlplane.database.bulk import as_json
from controlplane.events import log
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7
from controlplane.scopes import Scope
from overrides import event_types
from overrides.executions.metrics import count_phase
from overrides.executions.phases import Subject, refusal
from overrides.executions.reports import Facts, Refused, Report

OBJECT_TYPE = "flyte_execution"
_STEPS = UUID("5a3e8a0e-6f6b-5d9b-9d0e-0d1f5f0b6c11")
_MOST_OF_A_CODE = 2048
_EVENT_TYPES: dict[Subject, EventType] = {
    Subject.WORKFLOW: event_types.FLYTE_WORKFLOW_EVENT,
    Subject.NODE: event_types.FLYTE_NODE_EVENT,
    Subject.TASK: event_types.FLYTE_TASK_EVENT,
}


@dataclass(frozen=True, slots=True)
class _Execution:
    """The row of an execution, which is locked. workflow: None if FlyteAdmin was not asked.

    occurred_at: of the event of its phase.
    """

    id: UUID
    phase: str
    occurred_at: datetime | None
    workflow: str | None
    principal: str
    labels: Mapping[str, str]
    launch_plan: Mapping[str, Any] | None


@transaction.atomic
def record(report: Report, *, actor: Actor) -> Refused | None:
    """Record a report and append its event, or return why it does not count."""
    execution = _locked(report)
    refused = _refused(execution, report)
    if refused is None:
        _write(execution, report, actor)
    return refused


@transaction.atomic
def record_relayed(
    report: Report,
    *,
    actor: Actor,
    relay: Callable[[], bool],
    facts: Callable[[], Facts | None],
) -> None:
    """Record a report that FlyteAdmin accepts, in the order in which FlyteAdmin accepts them.

    relay: sends the report; False: FlyteAdmin had it already, as after our crash between its answer and our
    commit. What it raises leaves nothing behind. facts: asks for what is unknown of the execution.
    """
    execution = _locked(report)
    is_new = relay()
    if not is_new and _refused(execution, report) is not None:
        return
    if execution.workflow is None:
        execution = _completed(execution, facts())
    _write(execution, report, actor)


def _completed(execution: _Execution, known: Facts | None) -> _Execution:
    """Store what FlyteAdmin knows. An empty workflow: it was asked and did not know."""
    known = known or Facts("", "", {}, None)
    values = [known.workflow, known.principal, as_json(known.labels), as_json(known.launch_plan)]
    _execute(_COMPLETE, [*values, execution.id])
    return replace(
        execution,
        workflow=known.workflow,
        principal=known.principal,
        labels=known.labels,
        launch_plan=known.launch_plan,
    )


def _locked(report: Report) -> _Execution:
    """Return the execution, a new one if needed, locked until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [uuid7(), report.project, report.domain, report.execution])
        row_id, phase, occurred_at, workflow, principal, labels, launch_plan = cursor.fetchone()
    # Django's cursors return jsonb as text.
    known_plan = msgspec.json.decode(launch_plan) if launch_plan else None
    known_labels = msgspec.json.decode(labels)
    return _Execution(row_id, phase, occurred_at, workflow, principal, known_labels, known_plan)


def _refused(execution: _Execution, report: Report) -> Refused | None:
    before, version_before = execution.phase, 0
    if report.subject is not Subject.WORKFLOW:
        with connection.cursor() as cursor:
            cursor.execute(_STEP_BEFORE, [execution.id, _key(report)])
            row = cursor.fetchone()
        if row is None:
            return None
        before, version_before = row
    why = refusal(report.subject, before, report.phase, version_before=version_before, version=report.version)
    return Refused(why, before) if why else None


def _write(execution: _Execution, report: Report, actor: Actor) -> None:
    if report.subject is Subject.WORKFLOW:
        _enter_phase(execution, report)
    else:
        _execute(_STEP, [execution.id, _key(report), report.phase, report.version])
    if report.subject in settings.FLYTE_EVENT_TYPES:
        _append(execution, report, actor)


def _enter_phase(execution: _Execution, report: Report) -> None:
    code = report.error_code[:_MOST_OF_A_CODE]
    with connection.cursor() as cursor:
        cursor.execute(_PHASE, [report.phase, report.occurred_at, code, execution.id])
        (seconds,) = cursor.fetchone()
    count_phase(report, before=execution.phase, entered_at=execution.occurred_at, seconds=seconds)


def _append(execution: _Execution, report: Report, actor: Actor) -> None:
    log.append(
        _EVENT_TYPES[report.subject],
        OBJECT_TYPE,
        f"{report.project}/{report.domain}/{report.execution}",
        data={
            "phase": report.phase,
            "labels": execution.labels,
            "launch_plan": execution.launch_plan,
            "principal": execution.principal,
            "message": report.message,
        },
        actor=actor.name,
        scope=Scope(project=report.project, domain=report.domain, workflow=execution.workflow or ""),
        request_id=actor.request_id,
    )


def _key(report: Report) -> UUID:
    return uuid5(_STEPS, f"{report.subject} {report.step}")


def _execute(statement: str, values: Sequence[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


# By hand, since an installation has thousands of events a second: Django's ORM took half of the time.
# The update locks the row, also one that another transaction is about to insert.
_LOCK = """
INSERT INTO flyte_execution (id, project, domain, name) VALUES (%s, %s, %s, %s)
ON CONFLICT (project, domain, name) DO UPDATE SET updated_at = statement_timestamp()
RETURNING id, phase, occurred_at, workflow, principal, labels, launch_plan
"""
# A statement of its own: it sees what the transaction that held the lock before has committed.
_STEP_BEFORE = "SELECT phase, phase_version FROM flyte_execution_step WHERE execution_id = %s AND key = %s"
_STEP = """
INSERT INTO flyte_execution_step (execution_id, key, phase, phase_version) VALUES (%s, %s, %s, %s)
ON CONFLICT (execution_id, key) DO UPDATE SET phase = excluded.phase, phase_version = excluded.phase_version
"""
_PHASE = """
UPDATE flyte_execution SET phase = %s, occurred_at = %s, error_code = %s WHERE id = %s
RETURNING greatest(extract(epoch FROM statement_timestamp() - created_at), 0)::float
"""
_COMPLETE = """
UPDATE flyte_execution SET workflow = %s, principal = %s, labels = %s, launch_plan = %s WHERE id = %s
"""
