"""The same interleavings over the real storage: time passes by moving the times of all rows into the past."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from controlplane.database.clock import statement_now
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Role
from controlplane.messaging import outbox
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import OutboxMessage
from registry.agents.models import Agent, SweepRecord
from registry.dispatch import storage
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.lifecycle.answers import AnswerType
from registry.dispatch.lifecycle.records import Change, Command, Resource
from registry.dispatch.lifecycle.states import Goal
from registry.dispatch.lifecycle.timers import AgentStanding
from registry.dispatch.models import AgentMessaging, AssignmentRow, ResourceRow
from registry.dispatch.resources import requests
from registry.dispatch.sweep import sweep_resources
from tests.support.dispatch_agents import Message, SimulatedAgent
from tests.support.dispatch_world import Arrival, Broken, World

ADMIN = Caller(None, "ada", "user", (Grant(Role.ADMIN),))
ADA = Actor(None, "ada")
_STATES = {
    AgentStanding.HEARD: "ready",
    AgentStanding.SILENT: "unavailable",
    AgentStanding.GUARDED: "unknown",
    AgentStanding.GONE: "retired",
}
_TIMES: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (AssignmentRow, ("since", "sent_at", "status_at", "deletion_sent_at", "deletion_accepted_at")),
    (ResourceRow, ("created_at", "placed_at", "due_at")),
    (OutboxMessage, ("leased_until",)),
)


class _Died(Exception):
    """A process died before it committed."""


class _Standings(dict[str, AgentStanding]):
    """Stored as states of the agents."""

    def __setitem__(self, name: str, standing: AgentStanding) -> None:
        super().__setitem__(name, standing)
        Agent.objects.filter(name=name).update(state=_STATES[standing])


class DatabaseWorld(World):
    steps = (15, 40)

    def __init__(self, seed: int) -> None:
        self.ids: dict[str, str] = {}
        super().__init__(seed)
        self.standings = _Standings(self.standings)

    @property
    def resource(self) -> Resource:
        row = ResourceRow.objects.first()
        if row is None:
            return Resource("r", "container", Goal.PRESENT, self.now)
        return _with_names(storage.load(row).resource)

    @resource.setter
    def resource(self, resource: Resource) -> None:
        pass

    @property
    def now(self) -> datetime:
        return statement_now()

    @now.setter
    def now(self, now: datetime) -> None:
        pass

    def apply(self, change: Change, why: str) -> None:
        if why == "requested":
            self._create()
            return
        before = self.resource
        acts: dict[str, Callable[[], object]] = {
            "delete": lambda: requests.delete_resource("r", force=False, caller=ADMIN, actor=ADA),
            "cancel": lambda: requests.cancel_resource("r", caller=ADMIN, actor=ADA),
        }
        acts.get(why, lambda: requests.retry_resource("r", caller=ADMIN, actor=ADA))()
        self._compare(before)

    def _create(self) -> None:
        for name, agent in self.agents.items():
            row = Agent.objects.create(
                name=name, environment="prod", service_types=["container"], cost="low",
                topic_name=agent.ref.topic, state="ready",
            )  # fmt: skip
            AgentMessaging.objects.create(
                agent=row, channel=agent.ref.channel, has_consumer=True, fetched_at=Now(), checked_at=Now()
            )
            self.ids[name] = str(row.id)
        requests.create_resource(requests.ResourceRequest("r", "container", {"image": "nginx"}), actor=ADA)

    def _compare(self, before: Resource) -> None:
        self._check(before, self.resource)

    def _some_agent(self) -> SimulatedAgent:
        names = AssignmentRow.objects.exclude(state__in=["closed", "abandoned"]).values_list(
            "agent_name", flat=True
        )
        return self.agents[self.rng.choice(sorted(set(names)) or list(self.agents))]

    def _find(self, resource: Resource) -> SimulatedAgent | None:
        return None

    def run_timers(self) -> None:
        before = self.resource
        SweepRecord.objects.update_or_create(
            id=1, defaults={"last_sweep_at": self.now, "reachable_since": self.now - timedelta(days=1)}
        )
        sweep_resources()
        self._compare(before)

    def due_at(self) -> datetime | None:
        return ResourceRow.objects.get().due_at

    def pass_time(self, duration: timedelta) -> None:
        if duration < timedelta(seconds=1):
            return
        for model, names in _TIMES:
            model.objects.update(**{name: F(name) - duration for name in names})
        self.statuses = [_older(one, duration) for one in self.statuses]
        self.last_status = {name: _older(one, duration) for name, one in self.last_status.items()}
        self.known_ids = {number: at - duration for number, at in self.known_ids.items()}

    def receive(self, arrival: Arrival) -> None:
        before, answer = self.resource, arrival.answer
        agent_id, data = self.ids[arrival.agent], {"agent_name": arrival.agent, "epoch": arrival.epoch}
        if answer.type is AnswerType.STATUS:
            data |= {"id": "r", "status": _word(answer.status)}
            event = Envelope(str(arrival.number), "p", "dcm.status.container", data, time=answer.at)
        else:
            data |= {"resource_id": "r", "status": "DELETED" if answer.completed else "DELETING"}
            event = Envelope(str(arrival.number), "a", answer.type.value, data)
        receive_message(event, Sender(agent_id if self.rng.random() < 0.5 else None))
        self.inbox.add(arrival.number)
        self._compare(before)

    def relay(self) -> bool:
        try:
            with transaction.atomic():
                return self._publish_one()
        except _Died:
            return True

    def _publish_one(self) -> bool:
        messages = outbox.claim(1)
        for message in messages:
            is_cancel = message.event_type == Command.CANCEL.value
            topic = message.destination.removesuffix(".cancel")
            name = next(name for name, agent in self.agents.items() if agent.ref.topic == topic)
            number = cast(int, message.message_id)
            if number not in self.known_ids:
                self.known_ids[number] = self.now
                queues = self.cancels if is_cancel else self.main
                epoch = json.loads(message.data)["epoch"]
                queues[name].append(Message(number, Command(message.event_type), epoch))
            if not self.healed and self.rng.random() < 0.1:
                raise _Died
            outbox.mark_sent([message.position])
        return bool(messages)

    def empty_nats(self) -> None:
        super().empty_nats()
        with transaction.atomic():
            outbox.send_again()

    def _work_on_fetched(self, agent: SimulatedAgent) -> bool:
        free = Q(leased_until=None) | Q(leased_until__lte=Now())
        rows = OutboxMessage.objects.filter(
            free,
            channel="https",
            settled_at=None,
            destination__in=[agent.ref.topic, f"{agent.ref.topic}.cancel"],
        )
        row = rows.order_by("position").first()
        if row is None:
            return False
        OutboxMessage.objects.filter(id=row.id).update(leased_until=Now() + timedelta(seconds=60))
        agent.handle(_as_message(row))
        return True


def run(seed: int) -> DatabaseWorld:
    """Play one interleaving. Raises Broken."""
    world = DatabaseWorld(seed)
    world.play()
    world.heal()
    problems = world.problems()
    if problems:
        raise Broken("; ".join(problems))
    return world


def _with_names(resource: Resource) -> Resource:
    """Give the assignments the ids of the simulated agents."""
    rows = tuple(replace(one, agent=replace(one.agent, id=one.agent.name)) for one in resource.assignments)
    return replace(resource, assignments=rows)


def _as_message(row: OutboxMessage) -> Message:
    return Message(cast(int, row.id), Command(row.event_type), row.data["epoch"])


def _older(arrival: Arrival, duration: timedelta) -> Arrival:
    at = arrival.answer.at
    return replace(arrival, answer=replace(arrival.answer, at=at - duration if at else None))


def _word(name: str) -> str:
    return {"LIVE": "RUNNING", "GONE": "DELETED", "PROGRESSING": "PROVISIONING"}.get(name, name)
