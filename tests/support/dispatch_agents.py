"""Agents and providers as dispatch.md, section A, describes them: the reference model of the property tests.

Providers are idempotent on the resource's id. Answers can be lost: an agent publishes each once (A10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from registry.dispatch.lifecycle.answers import AnswerType, StatusClass
from registry.dispatch.lifecycle.records import AgentRef, Command

HEALTHY, UNHEALTHY, UNAVAILABLE = "healthy", "unhealthy", "unavailable"


@dataclass(slots=True)
class Message:
    """A request. number: its Nats-Msg-Id."""

    number: int
    command: Command
    epoch: int


@dataclass(slots=True)
class Habits:
    """How a world behaves; after healing nothing fails any more.

    echoes: agents repeat the epoch. accepts_unknown: deleting nothing succeeds. loses_held: with its memory.
    reports: providers send statuses; if not, no answer is lost, and what fails has no effect.
    """

    failing: float = 0.2
    echoes: bool = True
    accepts_unknown: bool = False
    loses_held: bool = False
    reports: bool = True


@dataclass(slots=True)
class SimulatedProvider:
    report: Callable[[StatusClass], None]
    exists: bool = False
    # What it will report next, one by one.
    work: list[StatusClass] = field(default_factory=list)

    def create(self) -> None:
        if not self.exists:
            self.exists, self.work = True, [StatusClass.PROGRESSING, StatusClass.LIVE]
        elif StatusClass.GONE in self.work:
            self.work = [StatusClass.LIVE]

    def delete(self) -> None:
        self.work = [StatusClass.GONE]

    def proceed(self) -> bool:
        if not self.work:
            return False
        status = self.work.pop(0)
        if status is StatusClass.GONE:
            self.exists = False
        self.report(status)
        return True


class SimulatedAgent:
    def __init__(self, ref: AgentRef, rng: Random, habits: Habits, world: AgentWorld) -> None:
        self.ref, self.rng, self.habits, self.world = ref, rng, habits, world
        self.provider = SimulatedProvider(lambda status: world.report(self, status))
        self.health, self.up, self.removed = HEALTHY, True, False
        # In memory: what it sent to its provider, and creates to drop.
        self.claims: set[str] = set()
        self.denied = False
        self.held: list[Message] = []

    def crash(self) -> None:
        self.claims, self.denied = set(), False
        if self.habits.loses_held:
            self.held = []

    def handle(self, message: Message) -> None:
        if message.command is Command.CANCEL:
            self._cancel(message)
        elif message.command is Command.CREATE and self.denied:
            self.denied = False  # dropped without an answer (A9)
        elif self.health == UNHEALTHY:
            self.held.append(message)
            self.claims.add("held") if message.command is Command.CREATE else None
            self._answer(AnswerType.REQUEST_QUEUED, message)
        elif self.health == UNAVAILABLE:
            self._answer(AnswerType.ERROR, message)
        else:
            self._forward(message)

    def recover(self) -> None:
        """The provider is healthy again: a held create and a held deletion annihilate (A7)."""
        self.health = HEALTHY
        held, self.held = self.held, []
        self.claims.discard("held")
        creates = [one for one in held if one.command is Command.CREATE]
        deletion = next((one for one in held if one.command is Command.DELETE), None)
        if creates and deletion is not None and held.index(creates[0]) < held.index(deletion):
            dropped = creates if self.rng.random() < 0.5 else creates[:1]
            held = [one for one in held if one is not deletion and one not in dropped]
            self._answer(AnswerType.DELETION_ACKNOWLEDGED, deletion, completed=True)
        for message in held:
            self._forward(message)

    def _cancel(self, message: Message) -> None:
        if "dispatched" in self.claims:
            self._answer(AnswerType.CANCEL_REJECTED, message)
            return
        if "held" in self.claims:
            self.held = [one for one in self.held if one.command is not Command.CREATE]
            self.claims.discard("held")
        else:
            self.denied = True
        self._answer(AnswerType.CANCEL_ACKNOWLEDGED, message)

    def _forward(self, message: Message) -> None:
        fails = self.rng.random() < self.habits.failing
        if message.command is Command.CREATE:
            # A request that timed out may have had its effect.
            if not fails or self._has_effect():
                self.provider.create()
            self.claims.add("dispatched")
            self._answer(AnswerType.ERROR if fails else AnswerType.CREATION_ACKNOWLEDGED, message)
            return
        self.claims.discard("dispatched")
        if not self.provider.exists and not self.habits.accepts_unknown:
            fails = True
        elif self.provider.exists and (not fails or self._has_effect()):
            self.provider.delete()
        self._answer(AnswerType.ERROR if fails else AnswerType.DELETION_ACKNOWLEDGED, message)

    def _has_effect(self) -> bool:
        return self.habits.reports and self.rng.random() < 0.3

    def _answer(self, answer_type: AnswerType, message: Message, *, completed: bool = False) -> None:
        epoch = message.epoch if self.habits.echoes else None
        self.world.answer(self, answer_type, epoch, completed)


class AgentWorld:
    """Where agents and providers send."""

    def answer(
        self, agent: SimulatedAgent, answer_type: AnswerType, epoch: int | None, completed: bool
    ) -> None:
        raise NotImplementedError

    def report(self, agent: SimulatedAgent, status: StatusClass) -> None:
        raise NotImplementedError
