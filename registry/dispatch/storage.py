"""Resources in the database: load one under its lock, and write a change with its messages and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from controlplane.database.clock import statement_now
from controlplane.errors import UnknownResource
from controlplane.messaging import outbox
from controlplane.messaging.models import OutboxMessage
from registry.agents.models import Agent
from registry.dispatch.channels import announce
from registry.dispatch.lifecycle.records import (
    AgentRef,
    Assignment,
    Change,
    Command,
    Entry,
    Resource,
    event_id,
)
from registry.dispatch.lifecycle.states import AssignmentState, Goal, ResourceState, is_start
from registry.dispatch.lifecycle.timers import AgentStanding, next_due_at
from registry.dispatch.message_data import message_data
from registry.dispatch.models import AssignmentRow, ResourceRow, TimelineRow
from registry.dispatch.policies import timer_policy
from registry.dispatch.resource_events import append_events
from registry.dispatch.standings import standings_of
from registry.dispatch.start_times import count_start

SOURCE = "dcm/control-plane"
# A resource whose timers may not run now is looked at again after this time.
_SOON = timedelta(seconds=5)
_GUARDED = timedelta(seconds=30)
# Of an assignment, all columns but those of its agent are named as the fields.
_FACTS = [field.name for field in fields(Assignment) if field.name not in ("epoch", "agent", "state")]
# The columns of a resource that a change can write.
_CHANGING = (
    *("goal", "state", "state_since", "reason", "agent_id", "agent_name", "epoch", "status", "output"),
    *("placement_tries", "placed_at", "due_at", "started_at", "deleted_at", "updated_at", "version"),
)


@dataclass(slots=True)
class Loaded:
    """A locked resource. row: as it was read. now: the database's time. standings: by epoch.

    An assignment with unsent messages counts as unsent: its agent could not answer yet.
    """

    row: ResourceRow
    resource: Resource
    now: datetime
    standings: dict[int, AgentStanding]


def lock_resource(resource_id: str, *, answers: bool = False) -> Loaded:
    """Lock the resource until the end of the transaction. Raises UnknownResource.

    answers: one of its agents has just answered.
    """
    row = ResourceRow.objects.select_for_update(of=("self",)).filter(id=resource_id).first()
    if row is None:
        raise unknown_resource(resource_id)
    return load(row, answers=answers)


def unknown_resource(resource_id: str) -> UnknownResource:
    return UnknownResource(f"There is no resource {resource_id[:80]!r}.")


def load(row: ResourceRow, *, answers: bool = False) -> Loaded:
    """Read the rest of a locked row. answers: one of its agents has just answered."""
    assignments = list(AssignmentRow.objects.filter(resource=row).order_by("epoch"))
    resource = Resource(
        row.id,
        row.service_type,
        Goal(row.goal),
        row.created_at,
        tuple(_assignment(attempt) for attempt in assignments),
        row.reason,
        row.placement_tries,
        row.placed_at,
        row.status,
        row.output,
        row.deleted_at is not None,
    )
    # The only agent is heard, since it answers: no query has to find that out.
    is_heard = answers and len(assignments) == 1
    standings = {assignments[0].epoch: AgentStanding.HEARD} if is_heard else _standings(row, assignments)
    return Loaded(row, resource, statement_now(), standings)


def _standings(row: ResourceRow, assignments: Sequence[AssignmentRow]) -> dict[int, AgentStanding]:
    if not assignments:
        return {}
    by_agent = standings_of({attempt.agent_id for attempt in assignments})
    standings = {attempt.epoch: by_agent[attempt.agent_id] for attempt in assignments}
    unsent = outbox.unsent().filter(order_key=order_key(row.id)).values_list("data__epoch", flat=True)
    for epoch in unsent:
        if standings.get(epoch, AgentStanding.GONE) is not AgentStanding.GONE:
            standings[epoch] = AgentStanding.UNSENT
    return standings


def order_key(resource_id: str) -> str:
    return f"resource:{resource_id}"


def save(loaded: Loaded, change: Change, *, actor: str, request_id: str = "") -> None:
    """Write the change of a locked resource: rows, timeline, messages and events."""
    before, after = loaded.resource, change.resource.sealed()
    if (after, change.entries, change.commands) == (before, (), ()) and not change.settles:
        _look_again(loaded)
        return
    _save_assignments(loaded.row, before, after)
    # Answered commands first: a command that is sent again has the same event id.
    _settle(loaded.row, change)
    _send(loaded.row, change)
    _save_row(loaded, after)
    TimelineRow.objects.bulk_create([_timeline_row(loaded.row, entry, actor) for entry in change.entries])
    append_events(loaded.row, before, change, actor, request_id)
    loaded.resource, loaded.standings = after, _standings_after(loaded, after)


def _assignment(row: AssignmentRow) -> Assignment:
    agent = AgentRef(str(row.agent_id), row.agent_name, row.topic, row.channel)
    known: Mapping[str, Any] = {name: getattr(row, name) for name in _FACTS}
    return Assignment(epoch=row.epoch, agent=agent, state=AssignmentState(row.state), **known)


def _save_assignments(row: ResourceRow, before: Resource, after: Resource) -> None:
    former = {attempt.epoch: attempt for attempt in before.assignments}
    # The withdrawn ones first: at most one row may be wanted.
    for assignment in sorted(after.assignments, key=lambda attempt: attempt.wanted):
        old = former.get(assignment.epoch)
        if old is None:
            _insert(row, assignment)
        elif old != assignment:
            _update(row, old, assignment)


def _insert(row: ResourceRow, assignment: Assignment) -> None:
    agent = assignment.agent
    AssignmentRow.objects.create(
        resource=row,
        epoch=assignment.epoch,
        state=assignment.state.value,
        agent_id=UUID(agent.id),
        agent_name=agent.name,
        topic=agent.topic,
        channel=agent.channel,
        **{name: getattr(assignment, name) for name in _FACTS},
    )


def _update(row: ResourceRow, old: Assignment, new: Assignment) -> None:
    updated = AssignmentRow.objects.filter(
        resource=row, epoch=old.epoch, agent_id=UUID(old.agent.id), state=old.state.value
    ).update(state=new.state.value, **{name: getattr(new, name) for name in _FACTS})
    if updated != 1:
        raise RuntimeError(f"{row.id}#{old.epoch} was changed without the lock of its resource.")


def _settle(row: ResourceRow, change: Change) -> None:
    for command, epoch in change.settles:
        rows = OutboxMessage.objects.filter(
            order_key=order_key(row.id),
            event_id=event_id(row.id, command, epoch),
            data__epoch=epoch,
            settled_at=None,
        )
        rows.update(settled_at=Now())


def _send(row: ResourceRow, change: Change) -> None:
    assignments = [change.resource.assignment(epoch) for _, epoch in change.commands]
    messages = [
        _outgoing(row, assignment, command)
        for assignment, (command, _) in zip(assignments, change.commands, strict=True)
    ]
    outbox.put(messages)
    pairs = zip(assignments, messages, strict=True)
    announce({UUID(one.agent.id) for one, message in pairs if message.channel == outbox.HTTPS})


def _route(agent: AgentRef) -> tuple[str, str]:
    """Return the topic and the channel of the agent now: both can change after the assignment."""
    now = Agent.objects.filter(id=agent.id).values_list("topic_name", "messaging__channel").first()
    return (now[0], now[1] or agent.channel) if now else (agent.topic, agent.channel)


def _outgoing(row: ResourceRow, assignment: Assignment, command: Command) -> outbox.Outgoing:
    topic, channel = _route(assignment.agent)
    return outbox.Outgoing(
        f"{topic}.cancel" if command is Command.CANCEL else topic,
        order_key(row.id),
        event_id(row.id, command, assignment.epoch),
        command.value,
        SOURCE,
        message_data(row, assignment.epoch, command),
        channel,
    )


def _save_row(loaded: Loaded, after: Resource) -> None:
    row, shown, state = loaded.row, _shown(after), after.state
    shown_before = _visible(row)
    _note_start(loaded, after)
    if state.value != row.state:
        row.state_since = loaded.now
    row.goal, row.state = after.goal.value, state.value
    row.reason = _reason(loaded.resource, after)
    row.agent_id = UUID(shown.agent.id) if shown else None
    row.agent_name = shown.agent.name if shown else ""
    row.epoch, row.status, row.output = after.last_epoch, after.status, after.output
    row.placement_tries, row.placed_at = after.placement_tries, after.placed_at
    row.due_at = due_at(loaded, after)
    if state is ResourceState.DELETED and row.deleted_at is None:
        row.deleted_at = loaded.now
    if _visible(row) != shown_before:
        # Not for a timer that started again: clients that wait for a change would be woken for nothing.
        row.updated_at, row.version = loaded.now, row.version + 1
    row.save(update_fields=_CHANGING)


def _note_start(loaded: Loaded, after: Resource) -> None:
    row = loaded.row
    if row.started_at is None and is_start(loaded.resource.state, after.state):
        row.started_at = loaded.now
        count_start(row.service_type, loaded.now - row.created_at)


def _reason(before: Resource, after: Resource) -> str:
    """Return what changed last: the reason of the resource, or that of the assignment that is shown."""
    shown, shown_before = _shown(after), _shown(before)
    if shown is None or (after.reason and after.reason != before.reason):
        return after.reason
    is_new = shown_before is None or (shown.epoch, shown.reason) != (shown_before.epoch, shown_before.reason)
    return shown.reason if is_new else after.reason or shown.reason


def _shown(resource: Resource) -> Assignment | None:
    return resource.current or (resource.assignments[-1] if resource.assignments else None)


def _visible(row: ResourceRow) -> tuple[Any, ...]:
    return (row.goal, row.state, row.reason, row.agent_id, row.epoch, row.status, row.output)


def due_at(loaded: Loaded, resource: Resource) -> datetime | None:
    """Return when the sweep should look at the resource next; never at once, so that none is starved."""
    standings = _standings_after(loaded, resource)
    next_at = next_due_at(resource, standings, timer_policy())
    soonest = loaded.now + (_GUARDED if AgentStanding.GUARDED in standings.values() else _SOON)
    return None if next_at is None else max(next_at, soonest)


def _standings_after(loaded: Loaded, resource: Resource) -> dict[int, AgentStanding]:
    """An agent that was just chosen sends heartbeats."""
    chosen = {attempt.epoch: AgentStanding.HEARD for attempt in resource.assignments}
    return {**chosen, **loaded.standings}


def _look_again(loaded: Loaded) -> None:
    ResourceRow.objects.filter(id=loaded.row.id).update(due_at=due_at(loaded, loaded.resource))


def _timeline_row(row: ResourceRow, entry: Entry, actor: str) -> TimelineRow:
    return TimelineRow(
        resource=row,
        epoch=entry.epoch,
        what=entry.what,
        verdict=entry.verdict.value,
        text=entry.text,
        event_id=entry.event_id,
        actor=actor,
    )
