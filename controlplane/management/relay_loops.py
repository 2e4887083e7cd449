"""The loops of `manage.py relay`, by name. Each runs in a thread of its own until it is stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from django.conf import settings

from controlplane.messaging.nats import NatsConnection

_log = logging.getLogger(__name__)
# A loop ends soon after `stop` is set; publishing may take two seconds.
_PATIENCE_SECONDS = 8.0
_LOOK_SECONDS = 0.2

Loop = Callable[[NatsConnection, threading.Event], None]


def _streams(nats: NatsConnection, stop: threading.Event) -> None:
    from controlplane.messaging.streams import keep_streams

    keep_streams(nats, stop)


def _outbox(nats: NatsConnection, stop: threading.Event) -> None:
    from controlplane.messaging.relay import Relay
    from registry.dispatch.resources.owners import team_of

    Relay(nats, team_of=team_of).run(stop)


def _answers(nats: NatsConnection, stop: threading.Event) -> None:
    from registry.dispatch.inbound.consuming import consume_answers

    consume_answers(nats, stop)


def _statuses(nats: NatsConnection, stop: threading.Event) -> None:
    from registry.dispatch.inbound.consuming import consume_statuses

    consume_statuses(nats, stop)


def _health(nats: NatsConnection, stop: threading.Event) -> None:
    from registry.dispatch.inbound.consuming import consume_health

    consume_health(nats, stop)


def _advisories(nats: NatsConnection, stop: threading.Event) -> None:
    from registry.dispatch.inbound.consuming import consume_advisories

    consume_advisories(nats, stop)


def _monitor(nats: NatsConnection, stop: threading.Event) -> None:
    from registry.dispatch.delivery.monitor import watch_consumers

    watch_consumers(nats, stop)


def _logins(nats: NatsConnection, stop: threading.Event) -> None:
    from registry.dispatch.nats_logins.answering import answer_logins

    answer_logins(nats, stop)


def _sessions(nats: NatsConnection, stop: threading.Event) -> None:
    from registry.dispatch.nats_logins.ending import end_sessions

    end_sessions(nats, stop)


def _events(nats: NatsConnection, stop: threading.Event) -> None:
    from controlplane.delivery.dispatch_loop import dispatch_events

    dispatch_events(stop)


def _deliveries(nats: NatsConnection, stop: threading.Event) -> None:
    from controlplane.delivery.relay import EventRelay

    EventRelay().run(stop)


def _notifications(nats: NatsConnection, stop: threading.Event) -> None:
    from controlplane.notifications.engine_loop import notify

    notify(stop)


LOOPS: dict[str, Loop] = {
    "events": _events,
    "notifications": _notifications,
    "deliveries": _deliveries,
    "outbox": _outbox,
    "answers": _answers,
    "statuses": _statuses,
    "health": _health,
    "advisories": _advisories,
    "monitor": _monitor,
    "logins": _logins,
    "sessions": _sessions,
}
# These run in every process, whatever else it does.
_ALWAYS: Mapping[str, Loop] = {"streams": _streams}


@dataclass(slots=True)
class Processes:
    """The chosen loops, each in a thread. A loop that ends by itself ends all others."""

    only: Collection[str] = ()
    # Set by handlers of signals, which must not touch `stop`: the interrupted thread may have its lock.
    is_ending: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    failed: list[str] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def run(self) -> bool:
        """Run until `is_ending` or a loop ends; return False if one has ended by itself."""
        with NatsConnection(settings.NATS_URL, name="relay") as nats:
            for name, loop in self._chosen().items():
                thread = threading.Thread(target=self._run, args=(name, loop, nats), name=name, daemon=True)
                self.threads.append(thread)
                thread.start()
            while not self.is_ending and not self.stop.wait(_LOOK_SECONDS):
                pass
            self.stop.set()
            for thread in self.threads:
                thread.join(_PATIENCE_SECONDS)
        return not self.failed

    def _chosen(self) -> dict[str, Loop]:
        return {**_ALWAYS, **{name: LOOPS[name] for name in (self.only or LOOPS)}}

    def _run(self, name: str, loop: Loop, nats: NatsConnection) -> None:
        try:
            loop(nats, self.stop)
        except Exception:
            _log.exception("relay_loop_failed", extra={"loop": name})
        if not self.stop.is_set():
            self.failed.append(name)
            self.stop.set()
