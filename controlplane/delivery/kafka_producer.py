"""Kafka's producer with a thread of its own, which serves the reports of deliveries."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from controlplane.delivery.flavours import WireMessage

# Between looks whether the producer was closed while somebody waits.
_LOOK_SECONDS = 1.0


class KafkaProducer:
    """One client for many threads.

    trouble: what the client last said of its connections, such as a password that is refused; or empty.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Raise KafkaException for options that the client refuses."""
        from confluent_kafka import Producer

        self.trouble = ""
        self._producer = Producer({**options, "error_cb": self._note}, logger=Silent())
        self._closing, self._closed = threading.Event(), threading.Event()
        threading.Thread(target=self._serve, name="kafka-reports", daemon=True).start()

    def store(self, topic: str, content: WireMessage, seconds: float) -> Any:
        """Return None once the event is stored, or the KafkaError of its report.

        Raises KafkaException, BufferError for what the client does not take; TimeoutError without a report.
        """
        reported = threading.Event()
        errors: list[Any] = []

        def report(error: Any, _: Any) -> None:
            errors.append(error)
            reported.set()

        headers: list[tuple[str, str | bytes | None]] = [
            (name, text.encode()) for name, text in content.headers.items()
        ]
        self._producer.produce(
            topic, content.body, key=content.key.encode(), headers=headers, on_delivery=report
        )
        until = time.monotonic() + seconds
        while not reported.wait(_LOOK_SECONDS):
            if self._closed.is_set() or time.monotonic() > until:
                raise TimeoutError
        self.trouble = self.trouble if errors[0] else ""
        return errors[0]

    def close(self) -> None:
        """Answer those who wait; no event is sent after this by the client's own retries."""
        self._closing.set()

    def _note(self, error: Any) -> None:
        from confluent_kafka import KafkaError

        # It says less than the error before it.
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self.trouble = error.str()

    def _serve(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(0.1)
        self._producer.flush(1)
        self._producer.purge()
        self._producer.flush(1)
        self._closed.set()


class Silent:
    """librdkafka's own log lines can hold addresses of other teams; errors come with the reports."""

    def log(self, *arguments: Any, **named: Any) -> None:
        """Drop the line."""
