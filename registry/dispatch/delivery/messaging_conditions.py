"""How requests reach an agent, as measured in NATS, whatever the agent reports. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from controlplane.formats.counts import counted

READY, CONGESTED, LISTENING = "MessagingReady", "Congested", "Listening"
_NATS = "nats"


class Measured(Protocol):
    """What the monitor measured (AgentMessaging)."""

    @property
    def channel(self) -> str: ...

    @property
    def fetched_at(self) -> datetime | None: ...

    @property
    def has_consumer(self) -> bool: ...

    @property
    def is_listening(self) -> bool | None: ...

    @property
    def is_congested(self) -> bool: ...

    @property
    def pending_count(self) -> int: ...

    @property
    def unacknowledged_count(self) -> int: ...

    @property
    def checked_at(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """How requests reach an agent, in words. since: when it was so measured, or when it last fetched."""

    words: str
    since: datetime | None


def delivery_of(measured: Measured | None) -> Delivery | None:
    """Return how requests reach the agent; None before the first measurement."""
    if measured is None:
        return None
    if measured.channel != _NATS:
        return Delivery("HTTPS, fetched", measured.fetched_at)
    return Delivery(f"{_nats_words(measured)}, since", measured.checked_at) if measured.checked_at else None


def _nats_words(measured: Measured) -> str:
    if not measured.has_consumer:
        return "not connected: no consumer in NATS, and nothing fetched by HTTPS"
    if measured.is_listening:
        return "NATS, waits for requests"
    if measured.unacknowledged_count:
        return f"NATS, handles {measured.unacknowledged_count}, with {measured.pending_count} in the queue"
    if measured.is_listening is None:
        return "NATS, not measured"
    return f"NATS, fetches none of {measured.pending_count} in the queue"


def messaging_conditions(measured: Measured | None) -> list[dict[str, Any]]:
    """Return a condition for what keeps requests from the agent; none before the first measurement."""
    if measured is None or measured.checked_at is None or measured.channel != _NATS:
        return []
    if not measured.has_consumer:
        message = "It has no consumer in NATS and gets no new requests. Check its connection to NATS."
        return [{"type": READY, "status": "false", "message": message}]
    if measured.is_congested:
        lag = measured.pending_count + measured.unacknowledged_count
        waits = counted(lag, "request waits", "requests wait")
        message = f"{waits} for it in NATS. It gets no more until fewer are left."
        return [{"type": CONGESTED, "status": "true", "message": message}]
    if measured.is_listening is False and measured.pending_count:
        waits = counted(measured.pending_count, "request waits", "requests wait")
        message = (
            f"{waits} for it in NATS, and it fetches none."
            " Check that its process runs and is connected to NATS."
        )
        return [{"type": LISTENING, "status": "false", "message": message}]
    return []
