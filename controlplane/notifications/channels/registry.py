"""The kinds of channels, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from prometheus_client import Counter

from controlplane.delivery.kinds import Message, Sender, Sent, SinkKind, SinkSecrets, register_kind
from controlplane.notifications.event_types import Step

ALL_STEPS = frozenset(Step)
NOTIFICATIONS = Counter(
    "cp_notifications_total", "Attempts to send a message to people.", ["channel", "result"]
)
Config = Mapping[str, Any]


def _one_receiver(config: Config) -> Sequence[str]:
    return ("",)


def _all_steps(config: Config) -> frozenset[Step]:
    return ALL_STEPS


def _no_holder(config: Config) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Channel:
    """A kind of channel. name: as people write it.

    steps: those that its receivers get. recipients: one message goes to each. holder: whom the settings name
    as the receiver of credentials, or empty; another one gets none that it was not given.
    """

    name: str
    kind: SinkKind
    steps: Callable[[Config], frozenset[Step]] = _all_steps
    recipients: Callable[[Config], Sequence[str]] = _one_receiver
    holder: Callable[[Config], str] = _no_holder


_channels: dict[str, Channel] = {}


def register_channel(channel: Channel) -> Channel:
    """Register the channel and its kind of sink, whose attempts are counted."""
    kind = channel.kind

    def open_counted(config: Config, secrets: SinkSecrets) -> Sender:
        return _Counted(channel.name, kind.open(config, secrets))

    register_kind(replace(kind, open=open_counted, is_channel=True))
    _channels[kind.name] = channel
    return channel


def channel_named(kind: str) -> Channel | None:
    """Return the channel with this kind of sink, or None."""
    return _channels.get(kind)


def channel_names() -> list[str]:
    """Return the channels' names, as people write them."""
    return [channel.name for channel in _channels.values()]


def stored_kind(name: str) -> str:
    """Return the kind of sink of the channel that people call so; the name itself if there is none."""
    return next((kind for kind, channel in _channels.items() if channel.name == name), name)


@dataclass(frozen=True, slots=True)
class _Counted:
    """A sender whose attempts are counted."""

    channel: str
    sender: Sender

    def send(self, message: Message) -> Sent:
        sent = self.sender.send(message)
        NOTIFICATIONS.labels(self.channel, sent.answer.result.value).inc()
        return sent

    def close(self) -> None:
        self.sender.close()
