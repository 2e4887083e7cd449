"""What is due when, for each state and each standing of the agent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from registry.dispatch.lifecycle import intents
from registry.dispatch.lifecycle.records import AgentRef, Assignment, Change, Command, Resource
from registry.dispatch.lifecycle.states import AssignmentState as S
from registry.dispatch.lifecycle.states import Goal, ResourceState
from registry.dispatch.lifecycle.timers import AgentStanding as A
from registry.dispatch.lifecycle.timers import TimerPolicy, next_due_at, run_timers

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ALPHA = AgentRef("1", "alpha", "dcm.agent.alpha")
POLICY = TimerPolicy()


def resource(state: S, **facts: Any) -> Resource:
    given = {"sent_at": NOW, "tries": 1, **facts}
    wanted = state in (S.PENDING, S.QUEUED, S.PROVISIONING, S.RUNNING, S.FAILED)
    goal = Goal.PRESENT if wanted else Goal.DELETED
    return Resource("web", "container", goal, NOW, (Assignment(1, ALPHA, state, NOW, "", **given),))


def deleting(**facts: Any) -> Resource:
    return resource(S.WITHDRAWN, **{"deletion_sent_at": NOW, "deletion_tries": 1, **facts})


def seconds_until_due(one: Resource, standing: A = A.HEARD) -> float | None:
    at = next_due_at(one, {1: standing}, POLICY)
    return (at - NOW).total_seconds() if at else None


def run(one: Resource, standing: A, *, after: float = 1e6, other: bool = False) -> Change:
    now = NOW + timedelta(seconds=after)
    return run_timers(one, {1: standing}, POLICY, now=now, has_other=lambda: other)


@pytest.mark.parametrize(
    ("one", "standing", "seconds"),
    [
        (resource(S.PENDING), A.HEARD, 60),
        (resource(S.PENDING, tries=4), A.HEARD, 60),
        (resource(S.PENDING, tries=5), A.HEARD, 120),
        (resource(S.PENDING, tries=50), A.HEARD, 900),
        (resource(S.QUEUED), A.HEARD, 300),
        (resource(S.PROVISIONING), A.HEARD, 900),
        (resource(S.PROVISIONING, alarmed=True), A.HEARD, None),
        (resource(S.RUNNING), A.HEARD, None),
        (resource(S.RUNNING), A.SILENT, None),
        (resource(S.RUNNING), A.GONE, 0),
        (resource(S.RUNNING, alarmed=True), A.GONE, None),
        (resource(S.RUNNING, alarmed=True), A.HEARD, 0),
        (resource(S.FAILED), A.HEARD, None),
        (deleting(), A.HEARD, 60),
        (deleting(deletion_held=True), A.HEARD, 300),
        (deleting(deletion_accepted_at=NOW), A.HEARD, 900),
        (resource(S.STUCK), A.HEARD, None),
        (resource(S.STUCK), A.GONE, 0),
        (resource(S.CLOSED), A.GONE, None),
        (resource(S.ABANDONED), A.GONE, None),
    ],
)
def test_when_a_resource_is_looked_at(one: Resource, standing: A, seconds: float | None) -> None:
    assert seconds_until_due(one, standing) == seconds


def test_a_waiting_resource_is_looked_at_less_and_less_often() -> None:
    one = Resource("web", "container", Goal.PRESENT, NOW, placed_at=NOW)
    pauses = [seconds_until_due(replace(one, placement_tries=tries)) for tries in (0, 1, 2, 3, 4, 20)]
    assert pauses == [5, 10, 20, 40, 60, 60]
    assert seconds_until_due(replace(one, placed_at=None)) == 0


CANCEL_AND_DELETE = ((Command.CANCEL, 1), (Command.DELETE, 1))


@pytest.mark.parametrize(
    ("one", "standing", "other", "commands", "state"),
    [
        (resource(S.PENDING), A.HEARD, True, ((Command.CREATE, 1),), S.PENDING),
        (resource(S.PENDING, tries=4), A.HEARD, True, CANCEL_AND_DELETE, S.WITHDRAWN),
        (resource(S.PENDING, tries=4), A.HEARD, False, ((Command.CREATE, 1),), S.PENDING),
        (resource(S.PENDING), A.SILENT, True, CANCEL_AND_DELETE, S.WITHDRAWN),
        (resource(S.PENDING), A.SILENT, False, (), S.PENDING),
        (resource(S.PENDING, tries=9), A.UNSENT, True, (), S.PENDING),
        (resource(S.PENDING, tries=9), A.GUARDED, True, (), S.PENDING),
        (resource(S.PENDING), A.GONE, False, CANCEL_AND_DELETE, S.WITHDRAWN),
        (resource(S.QUEUED), A.HEARD, True, CANCEL_AND_DELETE, S.WITHDRAWN),
        (resource(S.QUEUED), A.HEARD, False, ((Command.CREATE, 1),), S.QUEUED),
        (resource(S.QUEUED), A.SILENT, False, (), S.QUEUED),
        (resource(S.QUEUED), A.GUARDED, True, (), S.QUEUED),
        (resource(S.QUEUED), A.GONE, False, CANCEL_AND_DELETE, S.WITHDRAWN),
        (resource(S.PROVISIONING), A.HEARD, True, (), S.PROVISIONING),
        (resource(S.PROVISIONING), A.GONE, True, (), S.PROVISIONING),
        (resource(S.RUNNING), A.GONE, True, (), S.RUNNING),
        (deleting(), A.HEARD, False, ((Command.DELETE, 1),), S.WITHDRAWN),
        (deleting(cancel_sent=True), A.HEARD, False, CANCEL_AND_DELETE, S.WITHDRAWN),
        (deleting(deletion_tries=10), A.HEARD, False, (), S.STUCK),
        (deleting(deletion_tries=10), A.SILENT, False, (), S.WITHDRAWN),
        (deleting(deletion_tries=10), A.UNSENT, False, (), S.WITHDRAWN),
        (deleting(deletion_tries=10), A.GUARDED, False, (), S.WITHDRAWN),
        (deleting(), A.GONE, False, (), S.ABANDONED),
        (resource(S.STUCK), A.GONE, False, (), S.ABANDONED),
    ],
)
def test_what_an_overdue_assignment_does(
    one: Resource, standing: A, other: bool, commands: tuple[Any, ...], state: S
) -> None:
    change = run(one, standing, other=other)
    assert (change.commands, change.resource.assignment(1).state) == (commands, state)
    assert run(one, standing, after=-1, other=other) == Change(one)


@pytest.mark.parametrize("standing", [A.SILENT, A.UNSENT])
def test_a_deletion_that_cannot_arrive_uses_no_tries(standing: A) -> None:
    waiting = run(deleting(deletion_tries=9), standing, after=61)
    assert waiting.resource.assignment(1).deletion_tries == 9
    assert waiting.entries == ()
    assert run(waiting.resource, A.HEARD, after=100).commands == ()


def test_an_accepted_deletion_alarms_is_sent_again_and_given_up_after_a_day() -> None:
    accepted = deleting(proven=True, deletion_accepted_at=NOW)
    first = run(accepted, A.HEARD, after=901)
    assert (len(first.alarms), first.commands) == (1, ((Command.DELETE, 1),))
    second = run(first.resource, A.HEARD, after=1802)
    assert (len(second.alarms), second.commands) == (0, ((Command.DELETE, 1),))
    last = run(second.resource, A.HEARD, after=24 * 3600)
    assert (last.resource.state, len(last.alarms)) == (ResourceState.DELETED, 1)
    assert last.resource.assignment(1).state is S.ABANDONED


def test_an_accepted_deletion_of_what_never_showed_itself_is_completed() -> None:
    change = run(deleting(deletion_accepted_at=NOW), A.HEARD, after=901)
    assert (change.resource.assignment(1).state, change.alarms) == (S.CLOSED, ())


def test_a_retired_agent_keeps_what_runs_there_with_a_reason_and_it_may_return() -> None:
    left = run(resource(S.RUNNING), A.GONE)
    reason = left.resource.assignment(1).reason
    assert (left.resource.state, len(left.alarms)) == (ResourceState.RUNNING, 1)
    assert reason == "alpha is retired or removed, so it is unknown whether the resource still exists."
    back = run(left.resource, A.HEARD)
    assert (back.resource.assignment(1).reason, back.alarms) == ("alpha is back.", ())


def test_a_second_attempt_at_an_agent_is_sent_again_if_no_status_comes() -> None:
    former = replace(resource(S.CLOSED), goal=Goal.PRESENT)
    again = intents.assign(former, ALPHA, "", now=NOW).resource
    again = again.with_assignment(replace(again.assignment(2), state=S.PROVISIONING))
    change = run_timers(
        again, {1: A.HEARD, 2: A.HEARD}, POLICY, now=NOW + timedelta(hours=1), has_other=lambda: False
    )
    assert change.commands == ((Command.CREATE, 2),)
