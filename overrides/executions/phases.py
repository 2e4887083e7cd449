"""Which phase may follow which, by the rules of FlyteAdmin 1.16.8. Pure."""

from __future__ import annotations

from enum import StrEnum

UNDEFINED = "UNDEFINED"
_QUEUED, _RUNNING, _ABORTING = "QUEUED", "RUNNING", "ABORTING"


class Subject(StrEnum):
    """What an event is about. Their values are those of Flyte's setting `eventTypes`."""

    WORKFLOW = "workflow"
    NODE = "node"
    TASK = "task"


class Refusal(StrEnum):
    """Why an event does not count. The engine takes the first two for success."""

    RECORDED = "recorded"
    TERMINAL = "terminal"
    BACKWARDS = "backwards"
    ABORTING = "aborting"


_TERMINAL: dict[Subject, frozenset[str]] = {
    Subject.WORKFLOW: frozenset({"SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT"}),
    Subject.NODE: frozenset({"SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT", "SKIPPED", "RECOVERED"}),
    Subject.TASK: frozenset({"SUCCEEDED", "FAILED", "ABORTED"}),
}


def is_terminal(subject: Subject, phase: str) -> bool:
    return phase in _TERMINAL[subject]


def refusal(
    subject: Subject, before: str | None, phase: str, *, version_before: int = 0, version: int = 0
) -> Refusal | None:
    """Return why the phase cannot follow, or None.

    before: the phase so far; None: no event was recorded. version: of a task's phase, which may rise while
    the phase stays.
    """
    if subject is Subject.WORKFLOW:
        return _workflow_refusal(before or UNDEFINED, phase)
    if before is None:
        return None
    if before == phase and (subject is Subject.NODE or version_before >= version):
        return Refusal.RECORDED
    return Refusal.TERMINAL if is_terminal(subject, before) else None


def _workflow_refusal(before: str, phase: str) -> Refusal | None:
    # An execution that moves to another cluster is queued more than once.
    if phase == before and phase != _QUEUED:
        return Refusal.RECORDED
    if is_terminal(Subject.WORKFLOW, before):
        return Refusal.TERMINAL
    if before == _RUNNING and phase == _QUEUED:
        return Refusal.BACKWARDS
    if before == _ABORTING and not is_terminal(Subject.WORKFLOW, phase):
        return Refusal.ABORTING
    return None
