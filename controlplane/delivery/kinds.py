"""Kinds of sinks: how the settings of each are checked, and how an event is sent to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.flavours import Flavour, Transport, WireMessage, foreign_message, wire_message
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.schedule import Answer
from controlplane.delivery.signing import SigningSecret
from controlplane.errors import FieldError, InvalidRequest
from controlplane.observability.traces import spans


@dataclass(frozen=True, slots=True)
class SinkSecrets:
    """What is sealed of a sink. signing: newest first. credentials: by name, such as `password`."""

    signing: list[SigningSecret] = field(default_factory=list)
    credentials: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """An event that is sent now. key: its ordering key. attempted_at: the time of the attempt.

    flavour: in whose format; senders carry another one than our own as `wire_message` says.
    """

    event: LoggedEvent
    origin: Origin
    key: str
    attempted_at: datetime
    is_replay: bool = False
    flavour: Flavour = Flavour.NATIVE

    def foreign(self, transport: Transport) -> WireMessage | None:
        """Return what the transport carries in another product's format; None for our own format."""
        if self.flavour is Flavour.NATIVE:
            return None
        return wire_message(foreign_message(self.flavour, self.event), transport)

    @property
    def trace_headers(self) -> dict[str, str]:
        """Return the header that has receivers continue the trace; nothing if there is none."""
        traceparent = spans.traceparent() or self.event.traceparent
        return {"traceparent": traceparent} if traceparent else {}

    # Of a channel: what its receiver called the message that this one continues, or empty.
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """An attempt for people to look at. headers: without secrets. tls: version and cipher, or empty."""

    answer: Answer
    headers: dict[str, str] = field(default_factory=dict)
    response: str = ""
    tls: str = ""
    # What the receiver calls the message, with which a later one can change it.
    reference: str = ""


class Sender(Protocol):
    """Sends to one sink, from many threads. It lives until the sink changes."""

    def send(self, message: Message) -> Sent:
        """Make one attempt that ends within a minute; never raises for what a receiver does."""

    def close(self) -> None:
        """Give back connections."""


@dataclass(frozen=True, slots=True)
class SinkKind:
    """A kind of sink.

    check: raises InvalidRequest for settings or credentials with which nothing could be sent.
    open: returns a sender; it must not wait for a receiver.
    is_signed: a sink has signing secrets. is_channel: it gets messages of notifications alone, no events.
    is_of_platform: says of settings whether teams cannot have them, such as those of a client that follows
    addresses that a receiver names.
    """

    name: str
    check: Callable[[Mapping[str, Any], Mapping[str, str]], None]
    open: Callable[[Mapping[str, Any], SinkSecrets], Sender]
    is_signed: bool = False
    is_channel: bool = False
    is_of_platform: Callable[[Mapping[str, Any]], bool] = lambda config: False


def invalid_setting(pointer: str, message: str) -> InvalidRequest:
    """Return the error for a setting of a sink, such as `/config/url`."""
    return InvalidRequest(message, errors=[FieldError(pointer, "invalid", message)])


_kinds: dict[str, SinkKind] = {}


def register_kind(kind: SinkKind) -> SinkKind:
    _kinds[kind.name] = kind
    return kind


def kind_named(name: str) -> SinkKind | None:
    """Return the kind, or None if this installation does not have it."""
    return _kinds.get(name)


def kind_names() -> list[str]:
    return list(_kinds)


def sink_kind_names() -> list[str]:
    """Return the kinds that get events."""
    return [kind.name for kind in _kinds.values() if not kind.is_channel]


def channel_kind_names() -> list[str]:
    """Return the kinds that get messages of notifications alone."""
    return [kind.name for kind in _kinds.values() if kind.is_channel]
