"""The trace of a message that a relay sends: from the row of the outbox to its receiver."""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.messaging.outbox import Claimed, attributes_of
from controlplane.observability.trace_context import is_sampled
from controlplane.observability.traces import spans

_NO_HEADERS: Mapping[str, str] = {}


class MessageTrace:
    """headers: of the message at NATS. Spans are made for messages of recorded traces alone."""

    __slots__ = ("_delivery", "_publication", "headers")

    def __init__(self, message: Claimed) -> None:
        self._delivery = self._publication = spans.NO_SPAN
        parent = message.traceparent
        self.headers = {"traceparent": parent} if parent else _NO_HEADERS
        if spans.is_on() and is_sampled(parent):
            self._begin(message)

    def _begin(self, message: Claimed) -> None:
        facts = {**attributes_of(message), "messaging.system": "nats"}
        about_attempt: spans.Attributes = {**facts, "controlplane.attempt": message.attempts + 1}
        self._delivery = spans.span(
            "relay.deliver", "consumer", parent=message.traceparent, attributes=about_attempt
        )
        about_publication = {
            **facts,
            "messaging.operation.name": "publish",
            "messaging.operation.type": "send",
        }
        self._publication = spans.span(
            f"publish {message.destination}",
            "producer",
            parent=self._delivery.traceparent,
            attributes=about_publication,
        )
        self.headers = {"traceparent": self._publication.traceparent or message.traceparent}

    def end(self, error: str) -> None:
        """Note what NATS answered. error: or empty."""
        for span in (self._publication, self._delivery):
            if error:
                span.fail("not_stored")
            span.end()
