"""A control plane, its messages and three agents in one process: one seed gives one interleaving.

`run(seed)` plays faults at random, heals, lets everything finish, and returns what is wrong at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from registry.dispatch.lifecycle import intents
from registry.dispatch.lifecycle.answers import Answer, AnswerType, StatusClass, receive
from registry.dispatch.lifecycle.records import AgentRef, Change, Command, Resource
from registry.dispatch.lifecycle.states import (
    RESOURCE_TRANSITIONS,
    TRANSITIONS,
    AssignmentState,
    Goal,
    ResourceState,
)
from registry.dispatch.lifecycle.status_answers import LATE
from registry.dispatch.lifecycle.timers import AgentStanding, TimerPolicy, next_due_at, run_timers
from tests.support.dispatch_agents import (
    HEALTHY,
    UNAVAILABLE,
    UNHEALTHY,
    AgentWorld,
    Habits,
    Message,
    SimulatedAgent,
)

POLICY = TimerPolicy()
_START = datetime(2026, 1, 1, tzinfo=UTC)
_LEASE = timedelta(seconds=60)
_DUPLICATE_WINDOW = timedelta(minutes=2)


@dataclass(slots=True)
class Row:
    """Of the outbox."""

    number: int
    agent: str
    command: Command
    epoch: int
    sent: bool = False
    settled: bool = False
    leased_until: datetime = _START


@dataclass(slots=True)
class Arrival:
    """An answer on its way."""

    number: int
    agent: str
    epoch: int | None
    answer: Answer


class Broken(AssertionError):
    """The control plane broke one of its rules."""


class World(AgentWorld):
    # The least and the most that happens before healing.
    steps = (15, 90)

    def __init__(self, seed: int, *, tracing: bool = False) -> None:
        self.rng = rng = Random(seed)
        self.habits = Habits(
            failing=rng.choice([0.0, 0.2, 0.5, 0.95]),
            echoes=rng.random() < 0.5,
            accepts_unknown=rng.random() < 0.3,
            loses_held=rng.random() < 0.5,
            reports=rng.random() < 0.7,
        )
        self.now, self.numbers, self.healed = _START, 0, False
        self.loss = rng.choice([0.0, 0.1, 0.4]) if self.habits.reports else 0.0
        channels = ["https" if rng.random() < 0.3 else "nats" for _ in range(3)]
        refs = [AgentRef(f"a{i}", f"a{i}", f"dcm.agent.a{i}", channel) for i, channel in enumerate(channels)]
        self.agents = {ref.id: SimulatedAgent(ref, rng, self.habits, self) for ref in refs}
        self.standings = dict.fromkeys(self.agents, AgentStanding.HEARD)
        self.main: dict[str, deque[Message]] = {name: deque() for name in self.agents}
        self.cancels: dict[str, deque[Message]] = {name: deque() for name in self.agents}
        self.known_ids: dict[int, datetime] = {}
        self.outbox: list[Row] = []
        self.answers: list[Arrival] = []
        self.statuses: list[Arrival] = []
        self.last_status: dict[str, Arrival] = {}
        self.inbox: set[int] = set()
        self.log: list[str] = []
        self.tracing = tracing
        self.seen: set[ResourceState] = set()
        self.resource = Resource("r", "container", Goal.PRESENT, _START)
        self.apply(Change(self.resource, places=True), "requested")

    # The control plane

    def apply(self, change: Change, why: str) -> None:
        before = self.resource
        if change.places:
            change = self._place(change)
        after = change.resource.sealed()
        self.seen.add(after.state)
        if self.tracing:
            self.log.append(f"{self.now:%H:%M:%S} {why}: {_brief(after)} {_commands(change)}")
        self._check(before, after)
        self._check_commands(change)
        for command, epoch in change.settles:
            for row in self.outbox:
                if (row.command, row.epoch) == (command, epoch):
                    row.settled = True
        for command, epoch in change.commands:
            self.outbox.append(Row(self._number(), after.assignment(epoch).agent.id, command, epoch))
        self.outbox = [row for row in self.outbox if not row.settled]
        self.resource = after

    def _place(self, change: Change) -> Change:
        agent = self._find(change.resource)
        if agent is None:
            return change.then(intents.leave_unplaced(change.resource, "No agent can take it.", now=self.now))
        return change.then(intents.assign(change.resource, agent.ref, "best", now=self.now))

    def _find(self, resource: Resource) -> SimulatedAgent | None:
        excluded = {one.agent.id for one in resource.assignments if not one.settled}
        able = [
            agent
            for name, agent in self.agents.items()
            if self.standings[name] is AgentStanding.HEARD and name not in excluded
        ]
        avoided = {one.agent.id for one in resource.assignments if one.settled}
        able.sort(key=lambda agent: agent.ref.id in avoided)
        return able[0] if able else None

    def run_timers(self) -> None:
        change = run_timers(
            self.resource,
            self._standings_by_epoch(),
            POLICY,
            now=self.now,
            has_other=lambda: self._find(self.resource) is not None,
        )
        self.apply(change, "timers")

    def _standings_by_epoch(self) -> dict[int, AgentStanding]:
        unsent = {row.epoch for row in self.outbox if not row.sent and self._is_nats(row)}
        standings = {}
        for one in self.resource.assignments:
            standing = self.standings[one.agent.id]
            is_unsent = one.epoch in unsent and standing is not AgentStanding.GONE
            standings[one.epoch] = AgentStanding.UNSENT if is_unsent else standing
        return standings

    def take(self, arrivals: list[Arrival], index: int) -> None:
        """Apply an answer; the control plane may die before it commits, or before it acknowledges."""
        arrival, fate = arrivals[index], 1.0 if self.healed else self.rng.random()
        if fate < 0.05:
            return
        self.receive(arrival)
        if fate >= 0.1:
            arrivals.remove(arrival)

    def receive(self, arrival: Arrival) -> None:
        epoch = self._epoch_of(arrival)
        if arrival.number not in self.inbox and epoch is not None:
            why = f"{arrival.agent} {arrival.answer.type.name} {arrival.answer.status_class or ''}"
            self.apply(receive(self.resource, epoch, arrival.answer, now=self.now), why)
        self.inbox.add(arrival.number)

    def due_at(self) -> datetime | None:
        return next_due_at(self.resource, self._standings_by_epoch(), POLICY)

    def pass_time(self, duration: timedelta) -> None:
        self.now += duration

    def _epoch_of(self, arrival: Arrival) -> int | None:
        epochs = [one.epoch for one in self.resource.assignments if one.agent.id == arrival.agent]
        return arrival.epoch if arrival.epoch in epochs else (epochs[-1] if epochs else None)

    def _check(self, before: Resource, after: Resource) -> None:
        if sum(one.wanted for one in after.assignments) > 1:
            raise Broken("two assignments are wanted")
        former = {one.epoch: one for one in before.assignments}
        for one in after.assignments:
            old = former.get(one.epoch)
            if old is None:
                others = [two for two in after.assignments if two.epoch < one.epoch]
                if any(two.agent.id == one.agent.id and not two.settled for two in others):
                    raise Broken(f"{one.agent.id} has an unsettled assignment")
            elif old.state is not one.state and one.state not in TRANSITIONS[old.state]:
                raise Broken(f"assignment {old.state} -> {one.state}")
            if one.state is AssignmentState.ABANDONED and old and old.state is not one.state:
                agent = self.agents[one.agent.id]
                if agent.provider.exists and not agent.removed:
                    raise Broken(f"{one.agent.id} was given up, and has it")
        self._check_states(before, after)

    def _check_commands(self, change: Change) -> None:
        wanted = change.resource.current
        for command, epoch in change.commands:
            agent = change.resource.assignment(epoch).agent
            if command is not Command.CREATE and wanted is not None and wanted.agent.id == agent.id:
                raise Broken(f"{command} to {agent.id}, which should have it")

    def _check_states(self, before: Resource, after: Resource) -> None:
        if before.state is not after.state and after.state not in RESOURCE_TRANSITIONS[before.state]:
            raise Broken(f"resource {before.state} -> {after.state}")

    # Messages

    def relay(self) -> bool:
        """Publish the first unsent message; the relay may die before it marks it as sent."""
        row = next((row for row in self.outbox if not row.sent and self._is_nats(row)), None)
        if row is None:
            return False
        published_at = self.known_ids.get(row.number)
        if published_at is None or published_at < self.now - _DUPLICATE_WINDOW:
            self.known_ids[row.number] = self.now
            queues = self.cancels if row.command is Command.CANCEL else self.main
            queues[row.agent].append(Message(row.number, row.command, row.epoch))
        if self.healed or self.rng.random() > 0.1:
            row.sent = True
        return True

    def _is_nats(self, row: Row) -> bool:
        return self.agents[row.agent].ref.channel == "nats"

    def empty_nats(self) -> None:
        for queue in (*self.main.values(), *self.cancels.values()):
            queue.clear()
        if self.habits.reports:
            self.answers = [one for one in self.answers if self.agents[one.agent].ref.channel == "https"]
        self.statuses.clear()
        self.known_ids.clear()
        lost = [row for row in self.outbox if row.sent]
        self.outbox = [row for row in self.outbox if not row.sent]
        self.outbox += [Row(self._number(), row.agent, row.command, row.epoch) for row in lost]

    def work(self, agent: SimulatedAgent) -> bool:
        """The agent handles one request: of NATS from either subject, or fetched by HTTPS."""
        if not agent.up or agent.removed:
            return False
        if agent.ref.channel == "https":
            return self._work_on_fetched(agent)
        queues = [queue for queue in (self.main[agent.ref.id], self.cancels[agent.ref.id]) if queue]
        if not queues:
            return False
        queue = self.rng.choice(queues)
        message = queue.popleft()
        agent.handle(message)
        if not self.healed and self.rng.random() < 0.1:
            agent.crash()
            # Not acknowledged: it comes again, now or after the next ones.
            queue.insert(self.rng.choice([0, 1, 2]), message)
        return True

    def _work_on_fetched(self, agent: SimulatedAgent) -> bool:
        rows = [row for row in self.outbox if row.agent == agent.ref.id and row.leased_until <= self.now]
        if not rows:
            return False
        row = rows[0]
        row.leased_until = self.now + _LEASE
        agent.handle(Message(row.number, row.command, row.epoch))
        if not self.healed and self.rng.random() < 0.1:
            agent.crash()
        return True

    def answer(
        self, agent: SimulatedAgent, answer_type: AnswerType, epoch: int | None, completed: bool
    ) -> None:
        if not self.healed and self.rng.random() < self.loss:
            return
        answer = Answer(answer_type, "words", completed=completed)
        self.answers.append(Arrival(self._number(), agent.ref.id, epoch, answer))

    def report(self, agent: SimulatedAgent, status: StatusClass) -> None:
        if not self.habits.reports:
            return
        self.pass_time(timedelta(milliseconds=1))
        answer = Answer(AnswerType.STATUS, status=status.name, status_class=status, at=self.now)
        arrival = Arrival(self._number(), agent.ref.id, None, answer)
        self.statuses.append(arrival)
        self.last_status[agent.ref.id] = arrival
        if not self.healed and self.rng.random() < 0.1:
            self.statuses.append(arrival)

    def _number(self) -> int:
        self.numbers += 1
        return self.numbers

    # Faults and time

    def play(self) -> None:
        steps: list[tuple[int, Callable[[], object]]] = [
            (20, self.relay),
            (25, lambda: self.work(self._some_agent())),
            (15, self._let_a_provider_proceed),
            (20, self._take_an_answer),
            (12, self._take_a_status),
            (14, self._let_time_pass),
            (3, lambda: self._some_agent().crash()),
            (3, self._toggle_agent),
            (6, self._change_health),
            (3, self._change_standing),
            (2, self._fail_a_provider),
            (1, self.empty_nats),
            (4, self._intend),
            (1, self._let_a_quarter_pass),
        ]
        if self.rng.random() < 0.1:
            steps.append((1, self._remove_agent))
        weights = [weight for weight, _ in steps]
        for _, step in self.rng.choices(steps, weights, k=self.rng.randint(*self.steps)):
            step()

    def _some_agent(self) -> SimulatedAgent:
        current = [one.agent.id for one in self.resource.assignments if not one.settled]
        return self.agents[self.rng.choice(current or list(self.agents))]

    def _let_a_provider_proceed(self) -> None:
        self._some_agent().provider.proceed()

    def _take_an_answer(self) -> None:
        if self.answers:
            self.take(self.answers, self.rng.choice([0, self.rng.randrange(len(self.answers))]))

    def _take_a_status(self) -> None:
        """Statuses overtake each other, but not by much."""
        if not self.statuses:
            return
        index = self.rng.choice([0, 0, self.rng.randrange(len(self.statuses))])
        first, chosen = self.statuses[0].answer.at, self.statuses[index].answer.at
        if first is not None and chosen is not None and chosen - first > LATE:
            index = 0
        self.take(self.statuses, index)

    def _let_time_pass(self) -> None:
        self.pass_time(timedelta(seconds=self.rng.choice([1, 20, 61, 61, 130, 301, 901, 4000])))
        if self.rng.random() < 0.8:
            self.run_timers()

    def _let_a_quarter_pass(self) -> None:
        """Without new faults: long enough to exhaust every try."""
        for _ in range(12):
            self.pass_time(timedelta(seconds=61))
            self.run_timers()
            while self.relay() or any([self.work(agent) for agent in self.agents.values()]):
                pass
            while self.answers:
                self.take(self.answers, 0)

    def _toggle_agent(self) -> None:
        agent = self._some_agent()
        agent.up = not agent.up
        if not agent.removed:
            self.standings[agent.ref.id] = AgentStanding.HEARD if agent.up else AgentStanding.SILENT

    def _change_health(self) -> None:
        agent = self._some_agent()
        if agent.health == UNHEALTHY and agent.up and not agent.removed:
            agent.recover()
        else:
            agent.health = self.rng.choice([HEALTHY, UNHEALTHY, UNHEALTHY, UNAVAILABLE])

    def _change_standing(self) -> None:
        agent = self._some_agent()
        if not agent.removed:
            self.standings[agent.ref.id] = self.rng.choice(
                [AgentStanding.SILENT, AgentStanding.GUARDED, AgentStanding.HEARD]
            )

    def _fail_a_provider(self) -> None:
        provider = self._some_agent().provider
        if StatusClass.GONE in provider.work:
            # It accepted the deletion, and forgot it.
            provider.work = [StatusClass.LIVE] if self.habits.reports else []
        elif provider.exists and not provider.work and self.habits.reports:
            provider.work = [self.rng.choice([StatusClass.FAILED, StatusClass.GONE])]

    def _remove_agent(self) -> None:
        agent = self._some_agent()
        agent.removed = True
        self.standings[agent.ref.id] = AgentStanding.GONE

    def _intend(self) -> None:
        kind, resource = self.rng.choice(["delete", "cancel", "retry", "retry"]), self.resource
        if kind == "delete" and resource.goal is not Goal.DELETED and self.rng.random() < 0.5:
            self.apply(intents.delete(resource, "Deleted by ada.", now=self.now), "delete")
        elif kind == "cancel" and intents.can_cancel(resource):
            self.apply(intents.cancel(resource, "Cancelled by ada.", now=self.now), "cancel")
        elif kind == "retry" and intents.can_retry(resource):
            self.apply(intents.retry(resource, "Retried by ada.", now=self.now), "retry")

    # Healing

    def heal(self) -> None:
        self.log.append("healed")
        self.healed, self.habits.failing = True, 0.0
        for name, agent in self.agents.items():
            if not agent.removed:
                agent.up, self.standings[name] = True, AgentStanding.HEARD
                agent.recover()
        operator_tries = 0
        for _ in range(300):
            while self._flow():
                pass
            due_at = self.due_at()
            if due_at is not None:
                self.pass_time(max(timedelta(seconds=1), due_at - self.now))
                self.run_timers()
            elif self._is_stuck() and operator_tries < 3:
                operator_tries += 1
                self.apply(intents.retry(self.resource, "Retried by ada.", now=self.now), "operator")
            else:
                return
        if self.resource.state is not ResourceState.PENDING or self._find(self.resource) is not None:
            raise Broken("it never comes to rest")

    def _is_stuck(self) -> bool:
        return any(one.state is AssignmentState.STUCK for one in self.resource.assignments)

    def _flow(self) -> bool:
        """Let everything on its way arrive; return whether anything did."""
        moved = False
        while self.relay():
            moved = True
        for agent in self.agents.values():
            while self.work(agent):
                moved = True
            while not agent.removed and agent.provider.proceed():
                moved = True
        for arrivals in (self.answers, self.statuses):
            while arrivals:
                moved = True
                self.take(arrivals, 0)
        for name, last in list(self.last_status.items()):
            # Providers repeat a status until it is processed.
            if last.number not in self.inbox and last.answer.status_class and not self.agents[name].removed:
                self.report(self.agents[name], last.answer.status_class)
                moved = True
        return moved

    def problems(self) -> list[str]:
        resource, current = self.resource, self.resource.current
        found = []
        for name, agent in self.agents.items():
            is_current = current is not None and current.agent.id == name
            if agent.provider.exists and not is_current and not agent.removed:
                found.append(f"orphan at {name}")
        state = resource.state
        able = [agent for agent in self.agents.values() if not agent.removed]
        if resource.goal is Goal.PRESENT and able:
            if state is ResourceState.RUNNING and current is not None:
                agent = self.agents[current.agent.id]
                if not agent.provider.exists and not agent.removed:
                    found.append("running, and nothing exists")
            elif state is ResourceState.FAILED and current is not None:
                if not current.reason:
                    found.append("failed without a reason")
            elif state is ResourceState.PROVISIONING and not self.habits.reports and current is not None:
                if not self.agents[current.agent.id].provider.exists:
                    found.append("provisioning, and nothing exists")
            elif current is None or not self.agents[current.agent.id].removed:
                found.append(f"ended as {state}")
        elif resource.goal is not Goal.PRESENT and state not in (
            ResourceState.DELETED,
            ResourceState.CANCELLED,
        ):
            found.append(f"ended as {state}")
        return found


def run(seed: int) -> World:
    """Play one interleaving. Raises Broken."""
    world = World(seed)
    world.play()
    world.heal()
    problems = world.problems()
    if problems:
        raise Broken("; ".join(problems))
    return world


def explain(seed: int) -> str:
    """Return what is wrong with an interleaving, and how it came to it; empty if nothing is."""
    world = World(seed, tracing=True)
    try:
        world.play()
        world.heal()
        problems = world.problems()
    except Broken as error:
        problems = [str(error)]
    return f"seed {seed}: {'; '.join(problems)}\n" + "\n".join(world.log) if problems else ""


def _brief(resource: Resource) -> str:
    rows = " ".join(f"{one.epoch}@{one.agent.id}={one.state}" for one in resource.assignments)
    return f"{resource.state} [{rows}]"


def _commands(change: Change) -> str:
    return " ".join(f"{command.name.lower()}{epoch}" for command, epoch in change.commands)
