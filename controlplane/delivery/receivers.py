"""Receivers: sinks that are ready to be sent to. A relay keeps their senders until a sink changes."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from controlplane.delivery.kinds import Message, Sender, Sent, kind_named
from controlplane.delivery.models import Sink
from controlplane.delivery.schedule import Answer, Result, SinkHealth
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.errors import InvalidRequest, SecretsUnavailable

_log = logging.getLogger(__name__)

# More senders than that are closed, those that were used longest ago first.
_MOST_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Receiver:
    """A sink and what sends to it."""

    sink: Sink
    sender: Sender

    @property
    def health(self) -> SinkHealth:
        return SinkHealth(self.sink.progress.last_success_at, self.sink.progress.failures)


class Receivers:
    """The senders of one relay."""

    def __init__(self) -> None:
        self._senders: dict[UUID, tuple[int, Sender]] = {}
        # Why nothing can be sent to a sink, as the log has it.
        self._refused: dict[UUID, str] = {}

    def read(self, sink_ids: Collection[UUID]) -> dict[UUID, Receiver]:
        """Return the sinks that still exist, as they are now."""
        rows = Sink.objects.filter(id__in=sink_ids).select_related("progress")
        receivers = {sink.id: Receiver(sink, self._sender(sink)) for sink in rows}
        for sink_id in [*self._senders][: max(0, len(self._senders) - _MOST_KEPT)]:
            self._close(sink_id)
        return receivers

    def close(self) -> None:
        for sink_id in [*self._senders]:
            self._close(sink_id)

    def _sender(self, sink: Sink) -> Sender:
        version, sender = self._senders.pop(sink.id, (0, None))
        if sender is None or version != sink.version:
            if sender is not None:
                sender.close()
            sender = open_sender(sink)
        if isinstance(sender, Refusing):
            self._tell(sink, sender.answer.error)
        else:
            self._refused.pop(sink.id, None)
            # At the end: used last.
            self._senders[sink.id] = (sink.version, sender)
        return sender

    def _tell(self, sink: Sink, error: str) -> None:
        """Log once why nothing can be sent: the cause is often here, such as a setting of this process."""
        if self._refused.get(sink.id) != error:
            if len(self._refused) >= _MOST_KEPT:
                self._refused.clear()
            self._refused[sink.id] = error
            _log.warning("sink_not_opened", extra={"sink": str(sink.id), "error": error})

    def _close(self, sink_id: UUID) -> None:
        _, sender = self._senders.pop(sink_id)
        sender.close()


@dataclass(frozen=True, slots=True)
class Refusing:
    """Stands for a sink to which nothing can be sent at the moment."""

    answer: Answer

    def send(self, message: Message) -> Sent:
        return Sent(self.answer)

    def close(self) -> None:
        """Do nothing."""


def open_sender(sink: Sink) -> Sender:
    """Return a sender; a refusing one if the sink's secrets or addresses cannot be used now."""
    kind = kind_named(sink.kind)
    if kind is None:
        error = f"This installation cannot send to sinks of kind {sink.kind} any more."
        return Refusing(Answer(Result.OUTAGE, error=error))
    if not sink.has_known_format:
        error = f"This process does not know the flavour {sink.flavour}."
        return Refusing(Answer(Result.OUTAGE, error=error))
    try:
        return kind.open(sink.config, secrets_of(sink))
    except SecretsUnavailable as error:
        return Refusing(Answer(Result.OUTAGE, error=str(error)))
    except InvalidRequest as error:
        return Refusing(Answer(Result.ADDRESS_REFUSED, error=str(error)))
    except Exception as error:
        # A client that dislikes one sink's settings must not stop the relay for all others.
        _log.exception("The sink %s cannot be opened", sink.id)
        what = type(error).__name__
        return Refusing(Answer(Result.INTERNAL, error=f"The sink cannot be opened ({what}). See the log."))
