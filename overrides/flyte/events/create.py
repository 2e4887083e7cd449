"""Answer CreateWorkflowEvent, CreateNodeEvent and CreateTaskEvent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from flyteidl.admin import event_pb2
from google.protobuf.message import Message

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from overrides.executions.phases import Refusal, Subject
from overrides.executions.recording import record, record_relayed
from overrides.executions.reports import Refused, Report
from overrides.flyte.errors import Code, FlyteError
from overrides.flyte.events import flyteadmin
from overrides.flyte.events.flyteadmin import Original
from overrides.flyte.events.reports import RESPONSES, nearest_scope, object_text, report_of, subject_of

CALLS = ("CreateWorkflowEvent", "CreateNodeEvent", "CreateTaskEvent")


def is_on() -> bool:
    """Return whether these calls exist here."""
    return bool(settings.FLYTE_EVENTS != "off")


def create(request: Any, caller: Caller, original: Original) -> Message:
    """Record an event. original: the request as it came, for FlyteAdmin. Raises FlyteError."""
    caller.require(Action.OVERRIDE_WRITE, nearest_scope(request))
    actor = caller.actor(current_request_id())
    # Also before FlyteAdmin: it applies an event without ids to any execution that it finds first.
    report = report_of(request)
    if settings.FLYTE_EVENTS == "relay":
        relayed = flyteadmin.Relay(original)
        record_relayed(report, actor=actor, relay=relayed.send, facts=lambda: relayed.facts(report))
        relayed.repeat_refusal()
    elif refused := record(report, actor=actor):
        raise _error(refused, report, request)
    return RESPONSES[subject_of(request)]()


@dataclass(frozen=True, slots=True)
class _Texts:
    """FlyteAdmin's texts for a kind of event. {before}, {phase}, {version} and {object} are replaced."""

    recorded: str
    terminal: str


_TEXTS = {
    Subject.WORKFLOW: _Texts(
        "This phase {phase} was already recorded for workflow execution {object}",
        "Invalid phase change from {before} to {phase} for workflow execution {object}",
    ),
    Subject.NODE: _Texts(
        "This phase was already recorded {phase} for {object}",
        "Invalid phase change from {before} to {phase} for node execution {object}",
    ),
    Subject.TASK: _Texts(
        "have already recorded task execution phase {phase} (version: {version}) for {object}",
        "invalid phase change from {before} to {phase} for task execution {object}",
    ),
}
_BACKWARDS = "Cannot go from {before} to {phase} for workflow execution {object}"
_ABORTING = "Invalid phase change from aborting to {phase} for workflow execution {object}"


def _error(refused: Refused, report: Report, request: Any) -> FlyteError:
    """Return FlyteAdmin's error."""
    texts = _TEXTS[report.subject]
    code, text = {
        Refusal.RECORDED: (Code.ALREADY_EXISTS, texts.recorded),
        Refusal.TERMINAL: (Code.FAILED_PRECONDITION, texts.terminal),
        Refusal.BACKWARDS: (Code.FAILED_PRECONDITION, _BACKWARDS),
        Refusal.ABORTING: (Code.FAILED_PRECONDITION, _ABORTING),
    }[refused.refusal]
    values = {"before": refused.phase, "phase": report.phase, "version": report.version}
    message = text.format(**values, object=object_text(request))
    return FlyteError(code, message, _details(refused))


def _details(refused: Refused) -> tuple[Message, ...]:
    if refused.refusal is not Refusal.TERMINAL:
        return ()
    state = event_pb2.EventErrorAlreadyInTerminalState(current_phase=refused.phase)
    return (event_pb2.EventFailureReason(already_in_terminal_state=state),)
