"""What an answer of an agent, or a status of a provider, changes. Pure.

An answer can be late, repeated, or of an agent that no longer has the resource. It never revives an
assignment that was withdrawn: what exists there is deleted. Wire contract: dispatch.md A6 to A9, section B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from registry.dispatch.lifecycle.answer_cases import Answer, AnswerType, Case, StatusClass
from registry.dispatch.lifecycle.records import Change, Command, Entry, Resource, Verdict
from registry.dispatch.lifecycle.states import WANTED, AssignmentState
from registry.dispatch.lifecycle.status_answers import receive_status

__all__ = ["MOST_REFUSALS", "Answer", "AnswerType", "StatusClass", "receive"]

_S = AssignmentState
# An agent that never had the resource answers a deletion with this many errors: the create's, and its own.
_REFUSALS_OF_NOTHING = 2
MOST_REFUSALS = 10
# They show that something may exist at the agent, whichever attempt they belong to.
_EVIDENCE = frozenset({AnswerType.STATUS, AnswerType.CREATION_ACKNOWLEDGED, AnswerType.CANCEL_REJECTED})


def receive(resource: Resource, epoch: int, answer: Answer, *, now: datetime) -> Change:
    """Return what the answer changes. epoch: of the assignment that it belongs to."""
    case = Case(resource, resource.assignment(epoch), answer, now)
    last = resource.last_at(case.assignment.agent)
    if last is not None and last.epoch != epoch:
        # The agent has the resource again: deleting for the former attempt would delete that of the latter.
        if answer.type not in _EVIDENCE or (last.wanted and answer.type is not AnswerType.STATUS):
            return case.ignore(f"The agent has the resource again, as attempt {last.epoch}.")
        case = replace(case, assignment=last)
    change = _HANDLERS[answer.type](case)
    return replace(change, settles=change.settles + _settled_by(case))


def _settled_by(case: Case) -> tuple[tuple[Command, int], ...]:
    """Return the commands that the answer shows to have arrived."""
    epoch, answer = case.assignment.epoch, case.answer
    if answer.type in (AnswerType.CANCEL_ACKNOWLEDGED, AnswerType.CANCEL_REJECTED):
        return ((Command.CANCEL, epoch),)
    if answer.type is AnswerType.DELETION_ACKNOWLEDGED:
        return ((Command.CREATE, epoch), (Command.DELETE, epoch))
    if answer.type is AnswerType.ERROR and not case.assignment.wanted:
        # It does not say which request failed: the deletion's timer goes on.
        return ()
    return ((Command.CREATE, epoch),)


def _creation_acknowledged(case: Case) -> Change:
    assignment = case.assignment
    failed_before_it_existed = assignment.state is _S.FAILED and not assignment.proven
    if assignment.state in (_S.PENDING, _S.QUEUED) or failed_before_it_existed:
        return case.move(_S.PROVISIONING, "The agent accepted the request.", proven=True)
    if assignment.state in WANTED:
        return case.note("The agent accepted the request again.", proven=True)
    return case.compensate(proven=True)


def _request_queued(case: Case) -> Change:
    # Nothing exists while it is held, so this proves nothing.
    if case.assignment.state is _S.PENDING:
        text = "The agent holds the request until its provider is healthy."
        return case.move(_S.QUEUED, case.answer.text or text)
    if case.assignment.state is _S.WITHDRAWN:
        # Probably the deletion: its answer will take as long as the provider needs.
        text = "The agent holds the deletion until its provider is healthy."
        return case.note(text, deletion_held=True, deletion_sent_at=case.now, deletion_tries=1)
    return case.ignore(f"The attempt is {case.assignment.state} already.")


def _error(case: Case) -> Change:
    state, text = case.assignment.state, case.answer.text or "The agent reported an error."
    if state in (_S.PENDING, _S.QUEUED, _S.PROVISIONING):
        return case.move(_S.FAILED, text)
    # A deletion that nobody answered for long may be answered now.
    if state is _S.WITHDRAWN or (state is _S.STUCK and not case.assignment.may_exist):
        return _refused(case, text)
    return case.ignore(f"The attempt is {state} already: {text}")


def _refused(case: Case, text: str) -> Change:
    """Count an error during a deletion. It does not say which request it answers (dispatch.md A6)."""
    assignment = case.assignment
    if assignment.deletion_accepted_at is not None:
        # A repetition of the deletion finds it deleted, or being deleted, or still there: nobody knows.
        return case.note(f"The deletion was accepted before: {text}")
    refusals = assignment.refusals + 1
    was_cancelled = assignment.cancel_answered and not assignment.cancel_rejected
    if not assignment.may_exist and (refusals >= _REFUSALS_OF_NOTHING or was_cancelled):
        return case.close(f"Nothing exists at the agent: {text}", refusals=refusals)
    if refusals >= MOST_REFUSALS and assignment.deletion_doubted:
        return case.close(
            f"The agent deleted it, and refused {refusals} times to do so again: {text}", removed=True
        )
    if refusals >= MOST_REFUSALS:
        return case.stick(f"The agent refused {refusals} times to delete it: {text}", refusals=refusals)
    return case.note(f"The agent refused {refusals} times to delete it: {text}", refusals=refusals)


def _cancel_acknowledged(case: Case) -> Change:
    # It proves nothing: an agent that restarted has forgotten what it created (dispatch.md A8).
    assignment = case.assignment
    if not assignment.cancel_sent:
        return case.ignore("No cancel was sent.")
    if assignment.state is _S.WITHDRAWN and assignment.refusals and not assignment.may_exist:
        return case.close("Nothing exists at the agent.", cancel_answered=True)
    if assignment.state is _S.WITHDRAWN and assignment.deletion_held:
        return _delete_again(case)
    return case.note("The agent cancelled it, or does not remember it.", cancel_answered=True)


def _delete_again(case: Case) -> Change:
    """Send the deletion again: a cancel drops whatever the agent holds, and a held deletion with it."""
    noted = case.note(
        "The agent cancelled what it held.",
        cancel_answered=True,
        deletion_held=False,
        deletion_sent_at=case.now,
    )
    sent = Entry(case.assignment.epoch, Command.DELETE.value, Verdict.SENT, "The agent held the last one.")
    epoch = case.assignment.epoch
    return replace(noted, commands=((Command.DELETE, epoch),), entries=(*noted.entries, sent))


def _cancel_rejected(case: Case) -> Change:
    if not case.assignment.cancel_sent:
        return case.ignore("No cancel was sent.")
    if case.assignment.state is _S.WITHDRAWN:
        text = "The agent had already sent the request to its provider."
        # Whether the provider created anything, its status or the answer to the deletion shows.
        return case.note(text, cancel_answered=True, cancel_rejected=True)
    return case.compensate(cancel_answered=True, cancel_rejected=True)


def _deletion_acknowledged(case: Case) -> Change:
    assignment = case.assignment
    if assignment.deletion_sent_at is None:
        return case.ignore("No deletion was requested.")
    if case.answer.completed:
        return _deletion_completed(case)
    if assignment.state not in (_S.WITHDRAWN, _S.STUCK):
        return case.ignore(f"The attempt is {assignment.state} already.")
    return case.move(
        _S.WITHDRAWN,
        "The agent accepted the deletion.",
        deletion_accepted_at=assignment.deletion_accepted_at or case.now,
        deletion_held=False,
        deletion_doubted=False,
        refusals=0,
    )


def _deletion_completed(case: Case) -> Change:
    assignment = case.assignment
    was_accepted = assignment.deletion_accepted_at is not None
    is_certain = was_accepted or not assignment.may_exist or assignment.deletion_doubted
    if assignment.state is not _S.WITHDRAWN or is_certain:
        return case.close("The agent deleted it.", removed=True)
    # The agent may have dropped a repeated create that it held, together with the deletion (dispatch.md A7).
    epoch = assignment.epoch
    change = case.note(
        "The agent says that nothing is left. Something existed, so the deletion is sent once more.",
        deletion_doubted=True,
        deletion_sent_at=case.now,
        deletion_accepted_at=None,
        deletion_held=False,
        deletion_tries=1,
        refusals=0,
    )
    entry = Entry(epoch, Command.DELETE.value, Verdict.SENT, "To be sure.")
    return replace(change, commands=((Command.DELETE, epoch),), entries=(*change.entries, entry))


_HANDLERS: dict[AnswerType, Callable[[Case], Change]] = {
    AnswerType.CREATION_ACKNOWLEDGED: _creation_acknowledged,
    AnswerType.DELETION_ACKNOWLEDGED: _deletion_acknowledged,
    AnswerType.REQUEST_QUEUED: _request_queued,
    AnswerType.CANCEL_ACKNOWLEDGED: _cancel_acknowledged,
    AnswerType.CANCEL_REJECTED: _cancel_rejected,
    AnswerType.ERROR: _error,
    AnswerType.STATUS: receive_status,
}
