"""What the NATS connection takes and returns: messages, streams, consumers, errors. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

# Errors of `NatsConnection.publish` that say nothing about the message itself.
UNREACHABLE = "NATS cannot be reached."
NOT_CONFIRMED = "NATS did not confirm the message in time."
NO_STREAM = "No stream of NATS stores this subject."
CANNOT_STORE = "NATS cannot store messages: "


def is_outage(error: str) -> bool:
    """True if a message failed for reasons outside of it and its subject: they will go away."""
    return error in (UNREACHABLE, NOT_CONFIRMED, NO_STREAM) or error.startswith(CANNOT_STORE)


class NatsUnavailable(Exception):
    """NATS did not answer in time. The connection is restored by itself; try again."""


class NatsRefused(Exception):
    """NATS answered with an error. code: `err_code` of JetStream, or 0."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class ToPublish:
    """A message to store in a stream. JetStream drops a message whose id it has seen lately."""

    subject: str
    body: bytes
    message_id: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of core NATS, as handlers of `subscribe` receive it."""

    subject: str
    body: bytes
    headers: Mapping[str, str]


# It runs in a thread pool. Bytes that it returns are sent to the requester.
Handler = Callable[[Message], bytes | None]


@dataclass(frozen=True, slots=True)
class Received:
    """A message of a stream, for a consumer. Without a verdict, it is delivered again after `ack_wait`.

    stored_at: when the stream stored it.
    """

    subject: str
    body: bytes
    headers: Mapping[str, str]
    stream: str
    consumer: str
    sequence: int
    deliveries: int
    stored_at: datetime
    _verdict: Callable[[bytes], None] = field(repr=False, compare=False)

    def ack(self) -> None:
        """Note that it was handled. Verdicts can be lost; then it is delivered again."""
        self._verdict(b"+ACK")

    def nak(self, seconds: float = 0) -> None:
        """Have it delivered again, after `seconds`."""
        self._verdict(b'-NAK {"delay": %d}' % int(seconds * 1e9) if seconds else b"-NAK")

    def terminate(self) -> None:
        """Have it never delivered again."""
        self._verdict(b"+TERM")


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as its stream stores it."""

    subject: str
    body: bytes
    headers: Mapping[str, str]
    sequence: int
    stored_at: datetime


@dataclass(frozen=True, slots=True)
class StreamSpec:
    """A stream that is needed. retention: "workqueue", "limits". discard: "new", "old". -1, 0: no limit."""

    name: str
    subjects: tuple[str, ...]
    retention: str
    discard: str = "old"
    max_age_seconds: float = 0
    max_messages: int = -1
    max_messages_per_subject: int = -1
    max_bytes: int = -1
    duplicate_window_seconds: float = 120
    # Servers of a cluster that store each message.
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A stream as it is. difference: what differs from what is needed and cannot be changed, or "".

    missing_replicas: how many of its copies are off, or have not everything.
    """

    name: str
    created_at: datetime
    difference: str
    messages: int
    bytes: int
    first_sequence: int
    last_sequence: int
    missing_replicas: int = 0


@dataclass(frozen=True, slots=True)
class ConsumerSpec:
    """A durable pull consumer. subjects: only these of its stream, or all. max_deliveries: or -1."""

    stream: str
    name: str
    subjects: tuple[str, ...] = ()
    ack_wait_seconds: float = 30
    max_deliveries: int = 10
    max_ack_pending: int = 1000


@dataclass(frozen=True, slots=True)
class ConsumerFacts:
    """A consumer as it is. pending: not delivered yet. ack_pending: delivered, without a verdict."""

    name: str
    filter_subjects: tuple[str, ...]
    pending: int
    ack_pending: int
    redelivered: int
    created_at: datetime
    # When it last delivered a message, if ever.
    active_at: datetime | None
    # Pull requests that wait for messages: 0 means that nobody listens.
    waiting: int

    @property
    def filter_subject(self) -> str:
        """The only subject, or ""."""
        return self.filter_subjects[0] if len(self.filter_subjects) == 1 else ""
