"""What waits: messages, deliveries and events, from the figures of a scrape. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.observability.alerting.thresholds import Figure


@dataclass(frozen=True, slots=True)
class Waiting:
    """oldest_seconds: for how long the oldest has waited; 0 if none waits."""

    count: int
    oldest_seconds: float


@dataclass(frozen=True, slots=True)
class Backlog:
    """outbox: messages for agents. deliveries: events for sinks. events: those without a number yet."""

    outbox: Waiting
    deliveries: Waiting
    events: Waiting
    dead_letters: int


def backlog_of(figures: Sequence[Figure], events: Waiting) -> Backlog:
    """Return the backlog by the same figures that alerts look at."""

    def values(metric: str) -> list[float]:
        return [figure.value for figure in figures if figure.metric == metric]

    def waiting(count: str, oldest: str) -> Waiting:
        return Waiting(int(sum(values(count))), max(values(oldest), default=0.0))

    return Backlog(
        outbox=waiting("cp_outbox_unsent", "cp_outbox_oldest_seconds"),
        deliveries=waiting("cp_deliveries_waiting", "cp_deliveries_oldest_seconds"),
        events=events,
        dead_letters=int(sum(values("cp_dead_letters_open"))),
    )
