"""Each answer in each state of an assignment: what becomes of it, and what is sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from registry.dispatch.lifecycle import intents
from registry.dispatch.lifecycle.answers import MOST_REFUSALS, Answer, AnswerType, StatusClass, receive
from registry.dispatch.lifecycle.records import AgentRef, Assignment, Change, Command, Resource
from registry.dispatch.lifecycle.states import AssignmentState as S
from registry.dispatch.lifecycle.states import Goal, ResourceState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALPHA = AgentRef("1", "alpha", "dcm.agent.alpha")
ACCEPTED, DELETED = (Answer(AnswerType.DELETION_ACKNOWLEDGED, completed=done) for done in (False, True))
CREATED, QUEUED, ERROR, CANCELLED, REJECTED = (
    Answer(kind, "words")
    for kind in (
        AnswerType.CREATION_ACKNOWLEDGED,
        AnswerType.REQUEST_QUEUED,
        AnswerType.ERROR,
        AnswerType.CANCEL_ACKNOWLEDGED,
        AnswerType.CANCEL_REJECTED,
    )
)


def status(meaning: StatusClass, at: datetime | None = None) -> Answer:
    return Answer(AnswerType.STATUS, status=meaning.upper(), status_class=meaning, at=at)


LIVE, FAILED, GONE, PROGRESSING = (
    status(StatusClass(name)) for name in ("live", "failed", "gone", "progressing")
)


def resource(state: S, **facts: Any) -> Resource:
    assignment = Assignment(1, ALPHA, state, NOW, "before", sent_at=NOW, tries=1, **facts)
    wanted = state in (S.PENDING, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED)
    return Resource("web", "container", Goal.PRESENT if wanted else Goal.DELETED, NOW, (assignment,))


def withdrawn(**facts: Any) -> Resource:
    known = {"deletion_sent_at": NOW, "deletion_tries": 1, "cancel_sent": True, **facts}
    return resource(known.pop("state", S.WITHDRAWN), **known)


def after(before: Resource, answer: Answer) -> Change:
    return receive(before, 1, answer, now=NOW)


def state_after(before: Resource, answer: Answer) -> S:
    return after(before, answer).resource.assignment(1).state


@pytest.mark.parametrize(
    ("answer", "states"),
    [
        # In the order pending, queued, provisioning, running, failed.
        (CREATED, (S.PROVISIONING, S.PROVISIONING, S.PROVISIONING, S.RUNNING, S.PROVISIONING)),
        (QUEUED, (S.QUEUED, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED)),
        (ERROR, (S.FAILED, S.FAILED, S.FAILED, S.RUNNING, S.FAILED)),
        (LIVE, (S.RUNNING,) * 5),
        (FAILED, (S.FAILED,) * 5),
        (GONE, (S.FAILED,) * 5),
        (PROGRESSING, (S.PROVISIONING,) * 5),
        (CANCELLED, (S.PENDING, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED)),
        (REJECTED, (S.PENDING, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED)),
        (ACCEPTED, (S.PENDING, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED)),
        (DELETED, (S.PENDING, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED)),
    ],
)
def test_what_an_answer_does_to_a_wanted_resource(answer: Answer, states: tuple[S, ...]) -> None:
    before = (S.PENDING, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED)
    assert tuple(state_after(resource(state), answer) for state in before) == states


def test_no_answer_sends_anything_to_the_agent_that_should_have_it() -> None:
    for state in (S.PENDING, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED):
        for answer in (CREATED, QUEUED, ERROR, LIVE, FAILED, GONE, CANCELLED, REJECTED, ACCEPTED, DELETED):
            assert after(resource(state), answer).commands == ()


@pytest.mark.parametrize("answer", [CREATED, REJECTED, LIVE, FAILED])
def test_what_exists_after_all_is_deleted(answer: Answer) -> None:
    before = replace(resource(S.CLOSED, cancel_sent=True), deleted=True)
    change = after(before, answer)
    assert change.commands == ((Command.DELETE, 1),)
    assert change.resource.assignment(1).state is S.WITHDRAWN
    assert change.resource.state is ResourceState.DELETED


@pytest.mark.parametrize("answer", [ERROR, CANCELLED, ACCEPTED, DELETED, GONE, QUEUED, PROGRESSING])
def test_other_late_answers_leave_it_closed(answer: Answer) -> None:
    change = after(resource(S.CLOSED, cancel_sent=True, deletion_sent_at=NOW), answer)
    assert (change.resource.assignment(1).state, change.commands) == (S.CLOSED, ())


@pytest.mark.parametrize(
    ("facts", "answers", "state"),
    [
        # Nothing ever showed that it exists: the create's error and the deletion's.
        ({}, [ERROR], S.WITHDRAWN),
        ({}, [ERROR, ERROR], S.CLOSED),
        ({}, [CANCELLED, ERROR], S.CLOSED),
        ({}, [ERROR, CANCELLED], S.CLOSED),
        # It had reached the provider: one error more is needed.
        ({}, [REJECTED, ERROR], S.WITHDRAWN),
        ({}, [CREATED, ERROR, ERROR, CANCELLED], S.WITHDRAWN),
        ({"proven": True}, [ERROR] * (MOST_REFUSALS - 1), S.WITHDRAWN),
        ({"proven": True}, [ERROR] * MOST_REFUSALS, S.STUCK),
        ({"proven": True}, [ERROR] * MOST_REFUSALS + [ACCEPTED], S.WITHDRAWN),
        ({"proven": True, "removed": True}, [ERROR, ERROR], S.CLOSED),
        # Accepted is not completed; a repeated deletion that is refused says nothing yet.
        ({"proven": True}, [ACCEPTED], S.WITHDRAWN),
        ({"proven": True}, [ACCEPTED, ERROR, ERROR], S.WITHDRAWN),
        ({"proven": True, "alarmed": True}, [ACCEPTED, ERROR, ERROR], S.WITHDRAWN),
        ({"proven": True}, [ACCEPTED, DELETED], S.CLOSED),
        ({"proven": True}, [GONE], S.CLOSED),
        ({}, [DELETED], S.CLOSED),
        # The agent may have dropped a repeated create only (A7).
        ({"proven": True}, [DELETED], S.WITHDRAWN),
        ({"proven": True}, [DELETED, DELETED], S.CLOSED),
        ({"proven": True}, [DELETED, ACCEPTED, ERROR, ERROR], S.WITHDRAWN),
        ({"proven": True}, [DELETED] + [ERROR] * (MOST_REFUSALS - 1), S.WITHDRAWN),
        ({"proven": True}, [DELETED] + [ERROR] * MOST_REFUSALS, S.CLOSED),
        # Answers that come after nobody expected them.
        ({"state": S.STUCK}, [ERROR], S.STUCK),
        ({"state": S.STUCK}, [ERROR, ERROR], S.CLOSED),
        ({"state": S.STUCK, "proven": True}, [ERROR] * MOST_REFUSALS, S.STUCK),
        ({"proven": True}, [DELETED, LIVE, ERROR, ERROR], S.WITHDRAWN),
    ],
)
def test_how_a_deletion_ends(facts: dict[str, Any], answers: list[Answer], state: S) -> None:
    current = withdrawn(**facts)
    for answer in answers:
        current = after(current, answer).resource
    assert current.assignment(1).state is state


def test_a_deletion_that_is_not_believed_is_sent_once_more() -> None:
    assert after(withdrawn(proven=True), DELETED).commands == ((Command.DELETE, 1),)


def test_a_held_deletion_starts_its_wait_again() -> None:
    change = after(withdrawn(deletion_tries=7), QUEUED)
    held = change.resource.assignment(1)
    assert (held.deletion_held, held.deletion_tries, held.proven) == (True, 1, False)


def test_a_cancel_that_drops_the_held_deletion_has_it_sent_again() -> None:
    """Seen with the real agent: it holds the deletion, and the cancel drops both that and the create."""
    held = after(withdrawn(), QUEUED).resource
    change = after(held, CANCELLED)
    assert change.commands == ((Command.DELETE, 1),)
    assert change.resource.assignment(1).deletion_held is False
    assert after(change.resource, CANCELLED).commands == ()


def test_a_stuck_deletion_is_an_alarm() -> None:
    change = after(withdrawn(proven=True, refusals=MOST_REFUSALS - 1), ERROR)
    assert [alarm.text for alarm in change.alarms] == ["The agent refused 10 times to delete it: words"]


def test_what_was_given_up_is_not_deleted_again_but_reported_once() -> None:
    change = after(resource(S.ABANDONED), LIVE)
    assert (change.commands, len(change.alarms)) == ((), 1)
    again = receive(change.resource, 1, LIVE, now=NOW)
    assert (again.resource.assignment(1).state, again.alarms) == (S.ABANDONED, ())


@pytest.mark.parametrize(
    ("seconds", "state"),
    [(-1, S.RUNNING), (-299, S.RUNNING), (0, S.FAILED), (1, S.FAILED), (-301, S.FAILED)],
)
def test_a_status_that_was_overtaken_is_ignored_unless_the_clock_changed(seconds: int, state: S) -> None:
    before = after(resource(S.PENDING), status(StatusClass.LIVE, NOW)).resource
    assert state_after(before, status(StatusClass.FAILED, NOW + timedelta(seconds=seconds))) is state


def test_an_answer_to_a_former_attempt_never_deletes_that_of_the_latter() -> None:
    again = intents.assign(replace(resource(S.CLOSED), goal=Goal.PRESENT), ALPHA, "", now=NOW).resource
    for answer in (CREATED, REJECTED, ERROR, DELETED, ACCEPTED):
        change = receive(again, 1, answer, now=NOW)
        assert (change.commands, change.resource) == ((), again)
    # What exists there belongs to the latter.
    assert receive(again, 1, LIVE, now=NOW).resource.state is ResourceState.RUNNING
    # That nothing is left was said of the former.
    assert receive(again, 2, GONE, now=NOW).resource.state is ResourceState.PENDING


@pytest.mark.parametrize(
    ("before", "answer", "settled"),
    [
        (resource(S.PENDING), CREATED, {Command.CREATE}),
        (resource(S.PENDING), ERROR, {Command.CREATE}),
        (withdrawn(), ERROR, set()),
        (withdrawn(), CANCELLED, {Command.CANCEL}),
        (withdrawn(), REJECTED, {Command.CANCEL}),
        (withdrawn(proven=True), ACCEPTED, {Command.CREATE, Command.DELETE}),
        (withdrawn(), LIVE, {Command.CREATE}),
        (withdrawn(), GONE, set(Command)),
    ],
)
def test_which_messages_an_answer_settles(before: Resource, answer: Answer, settled: set[Command]) -> None:
    assert {command for command, _ in after(before, answer).settles} == settled
