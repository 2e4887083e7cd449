"""What a provider's status changes. Pure.

Statuses of one resource can overtake each other: they come by any number of consumers. The provider's own
clock orders them; an older one is ignored (environment-agents.md, 5.4 Status events).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from registry.dispatch.lifecycle.answer_cases import Case, StatusClass
from registry.dispatch.lifecycle.records import Assignment, Change
from registry.dispatch.lifecycle.states import UNFINISHED, WANTED, AssignmentState

_S = AssignmentState
# A status that is older than the last by more than this shows a changed clock, not a late message.
LATE = timedelta(minutes=5)


def receive_status(case: Case) -> Change:
    if is_late(case):
        return case.ignore(f"The status {case.answer.status} is older than the last one.")
    if case.assignment.state in WANTED:
        return _status_of_wanted(case)
    return _status_of_unwanted(case)


def is_late(case: Case) -> bool:
    last, sent_at = case.assignment.status_at, case.answer.at
    return last is not None and sent_at is not None and last - LATE <= sent_at < last


def _status_of_wanted(case: Case) -> Change:
    answer, facts = case.answer, _facts(case)
    report = f"The provider reports {answer.status}." + (f" {answer.text}" if answer.text else "")
    match answer.status_class:
        case StatusClass.LIVE:
            change = case.move(_S.RUNNING, report, **facts)
        case StatusClass.FAILED:
            change = case.move(_S.FAILED, report, **facts)
        case StatusClass.GONE if _is_of_former_attempt(case):
            return case.ignore(f"{report} That was a former attempt at this agent.")
        case StatusClass.GONE:
            change = case.move(_S.FAILED, f"{report} Its deletion was not requested here.", **facts)
        case StatusClass.PROGRESSING:
            change = case.move(_S.PROVISIONING, report, **facts)
        case _:
            return case.ignore(f"The status {answer.status!r} is not known for this service type.")
    output = answer.output if answer.output is not None else change.resource.output
    resource = replace(change.resource, status=answer.status, output=output, reason=answer.text)
    return replace(change, resource=resource)


def _status_of_unwanted(case: Case) -> Change:
    report, facts = f"The provider reports {case.answer.status}.", _facts(case)
    match case.answer.status_class:
        case StatusClass.GONE:
            return case.close(report, **facts)
        case StatusClass.LIVE | StatusClass.FAILED:
            return case.compensate(**facts)
        case StatusClass.PROGRESSING if case.assignment.state in (_S.WITHDRAWN, _S.STUCK):
            return case.note(report, **facts)
        case _:
            # A later status shows whether something exists.
            return case.ignore(report)


def _facts(case: Case) -> dict[str, object]:
    is_gone = case.answer.status_class is StatusClass.GONE
    return {"status_at": case.answer.at or case.assignment.status_at, "proven": True, "removed": is_gone}


def _is_of_former_attempt(case: Case) -> bool:
    attempt = case.assignment
    is_first_sign = attempt.state in UNFINISHED and not attempt.proven
    return is_first_sign and any(_precedes(former, attempt) for former in case.resource.assignments)


def _precedes(former: Assignment, other: Assignment) -> bool:
    return former.agent.id == other.agent.id and former.epoch < other.epoch
