"""NATS JetStream, for threads: a connection with an event loop of its own.

Only `controlplane.messaging` imports the client of NATS; messages are sent through the outbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from controlplane.messaging import nats_api as api
from controlplane.messaging.nats_link import Link, cancel_other_tasks, connect, read_answer
from controlplane.messaging.nats_pulling import Inbox, pull
from controlplane.messaging.nats_types import (
    UNREACHABLE,
    ConsumerFacts,
    ConsumerSpec,
    Handler,
    Message,
    NatsRefused,
    NatsUnavailable,
    Received,
    StoredMessage,
    StreamFacts,
    StreamSpec,
    ToPublish,
)

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_CONNECT_SECONDS = 3.0
_CALL_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_HANDLERS = 8


class NatsConnection:
    """A connection for several threads, which restores itself for as long as it is open."""

    def __init__(self, url: str, *, name: str) -> None:
        self._url, self._name = url, name
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"nats-{name}", daemon=True)
        self._handlers = ThreadPoolExecutor(_HANDLERS, thread_name_prefix=f"nats-{name}")
        self._subscriptions: list[tuple[str, Handler, str]] = []
        self._link: Link | None = None
        # Of the present connection.
        self._inboxes: dict[ConsumerSpec, Inbox] = {}
        # The last error of each consumer.
        self._reported: dict[ConsumerSpec, str] = {}
        self._linked = threading.Event()
        self._closing = False
        # How often a connection was established.
        self.connects = 0

    def __enter__(self) -> Self:
        """Start to connect, without waiting for it."""
        self._thread.start()
        self._submit(self._keep_connected())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(TimeoutError, NatsUnavailable):
            self._run(self._close(), _CALL_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()
        self._handlers.shutdown(wait=False, cancel_futures=True)

    @property
    def connected(self) -> bool:
        return self._linked.is_set()

    def wait_connected(self, seconds: float) -> bool:
        """Wait for a connection; return whether there is one."""
        return self._linked.wait(seconds)

    def publish(self, messages: Sequence[ToPublish], *, timeout: float) -> list[str]:
        """Have messages stored, in their order per subject; return one error for each, "" if it is stored.

        They are sent without waiting for one another. While there is no connection, all fail at once.
        """

        async def work() -> list[str]:
            if self._link is None:
                return [UNREACHABLE] * len(messages)
            return await self._link.publish(messages, timeout)

        return self._run(work(), timeout + _CALL_SECONDS)

    def fetch(self, consumer: ConsumerSpec, *, limit: int, seconds: float) -> list[Received]:
        """Return messages as soon as there are any, at most `limit`; none after `seconds`.

        A missing consumer is created. While NATS is away, it waits for `seconds` and returns none.
        """
        if not self._linked.wait(seconds):
            return []
        try:
            return self._run(self._pull(consumer, limit, seconds), seconds + 3 * _CALL_SECONDS)
        except (NatsUnavailable, NatsRefused) as error:
            self._report(consumer, str(error))
            threading.Event().wait(min(seconds, 1.0))
            return []

    def _report(self, consumer: ConsumerSpec, error: str) -> None:
        """Log what is new: an optional stream may be absent for ever."""
        if self._reported.get(consumer) != error:
            self._reported[consumer] = error
            facts = {"stream": consumer.stream, "consumer": consumer.name, "error": error}
            _log.info("nats_fetch_failed", extra=facts)

    async def _pull(self, consumer: ConsumerSpec, limit: int, seconds: float) -> list[Received]:
        inbox = self._inboxes.get(consumer)
        if inbox is None:
            inbox = Inbox(self._present(), consumer)
            await inbox.open()
            self._inboxes[consumer] = inbox
        return await pull(inbox, limit, seconds)

    def ensure_stream(self, spec: StreamSpec) -> StreamFacts:
        """Create the stream, or adjust its limits. Raises NatsUnavailable, NatsRefused.

        Another retention or other subjects stay as they are: `StreamFacts.difference` names them.
        """
        try:
            answer = self._api(f"STREAM.INFO.{spec.name}")
        except NatsRefused as error:
            if error.code != api.NO_SUCH_STREAM:
                raise
            return api.stream_facts(self._api(f"STREAM.CREATE.{spec.name}", api.stream_config(spec)), "")
        difference = api.unchangeable_difference(spec, answer["config"])
        config = None if difference else api.changed_config(spec, answer["config"])
        if config is not None:
            try:
                answer = self._api(f"STREAM.UPDATE.{spec.name}", config)
            except NatsRefused as error:
                difference = f"limits cannot be set: {error}"
        return api.stream_facts(answer, difference)

    def ensure_consumer(self, spec: ConsumerSpec) -> None:
        """Create the consumer, or adjust it. Raises NatsUnavailable, NatsRefused."""
        self._api(f"CONSUMER.CREATE.{spec.stream}.{spec.name}", json.loads(api.consumer_request(spec)))

    def consumers(self, stream: str) -> list[ConsumerFacts]:
        """Return all consumers of the stream; none if there is no such stream."""
        facts: list[ConsumerFacts] = []
        while True:
            try:
                answer = self._api(f"CONSUMER.LIST.{stream}", {"offset": len(facts)})
            except NatsRefused as error:
                if error.code == api.NO_SUCH_STREAM:
                    return []
                raise
            page = answer.get("consumers") or []
            facts.extend(api.consumer_facts(one) for one in page)
            if not page or len(facts) >= answer["total"]:
                return facts

    def message(self, stream: str, sequence: int) -> StoredMessage | None:
        """Return a message of a stream, or None if it is not there any more."""
        try:
            return api.stored_message(self._api(f"STREAM.MSG.GET.{stream}", {"seq": sequence}))
        except NatsRefused as error:
            if error.code not in api.NOT_THERE:
                raise
            return None

    def delete_message(self, stream: str, sequence: int) -> None:
        """Delete a message, if it is there."""
        self._delete(f"STREAM.MSG.DELETE.{stream}", {"seq": sequence, "no_erase": True})

    def purge(self, stream: str, subject: str) -> int:
        """Delete all messages with a subject, which may have wildcards; return how many."""
        return int((self._delete(f"STREAM.PURGE.{stream}", {"filter": subject}) or {}).get("purged", 0))

    def delete_consumer(self, stream: str, name: str) -> None:
        """Delete a consumer, if it is there."""
        self._delete(f"CONSUMER.DELETE.{stream}.{name}", None)

    def delete_stream(self, name: str) -> None:
        """Delete a stream with its messages, if it is there."""
        self._delete(f"STREAM.DELETE.{name}", None)

    def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> None:
        """Have messages of core NATS handled in a thread pool, after each connection. queue: shares them."""

        async def work() -> None:
            self._subscriptions.append((subject, handler, queue))
            if self._link is not None:
                await self._subscribe(self._link, subject, handler, queue)

        self._run(work(), _CALL_SECONDS)

    def request(self, subject: str, payload: bytes, *, timeout: float) -> bytes:
        """Send a request of core NATS and return the response. Raises NatsUnavailable."""
        if not self._linked.wait(timeout):
            raise NatsUnavailable(UNREACHABLE)
        message = self._run(self._present().call(subject, payload, timeout), timeout + _CALL_SECONDS)
        if message.headers and message.headers.get("Status") == "503":
            raise NatsUnavailable(f"Nobody answers {subject}.")
        return bytes(message.data)

    def _delete(self, what: str, body: dict[str, Any] | None) -> dict[str, Any] | None:
        try:
            return self._api(what, body)
        except NatsRefused as error:
            if error.code not in api.NOT_THERE:
                raise
            return None

    def _api(self, what: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        if not self._linked.wait(_CALL_SECONDS):
            raise NatsUnavailable(UNREACHABLE)
        request = json.dumps(body).encode() if body is not None else b""
        call = self._present().call(f"$JS.API.{what}", request, _CALL_SECONDS)
        return read_answer(self._run(call, 2 * _CALL_SECONDS))

    def _present(self) -> Link:
        link = self._link
        if link is None:
            raise NatsUnavailable(UNREACHABLE)
        return link

    def _submit(self, work: Coroutine[Any, Any, _T]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _run(self, work: Coroutine[Any, Any, _T], seconds: float) -> _T:
        future = self._submit(work)
        try:
            result: _T = future.result(seconds)
        except TimeoutError as error:
            future.cancel()
            raise NatsUnavailable(UNREACHABLE) from error
        return result

    async def _keep_connected(self) -> None:
        pause = _FIRST_PAUSE
        while not self._closing:
            try:
                link = await connect(self._url, self._name, timeout=_CONNECT_SECONDS)
                for subscription in self._subscriptions:
                    await self._subscribe(link, *subscription)
            except (NatsUnavailable, NatsError) as error:
                _log.warning("nats_unavailable", extra={"error": str(error)})
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            pause = _FIRST_PAUSE
            self.connects += 1
            self._link, self._inboxes = link, {}
            self._linked.set()
            await link.lost.wait()
            if self._closing:
                return
            self._linked.clear()
            self._link = None
            _log.warning("nats_connection_lost")
            with contextlib.suppress(Exception):
                await asyncio.wait_for(link.client.close(), _CONNECT_SECONDS)

    async def _subscribe(self, link: Link, subject: str, handler: Handler, queue: str) -> None:
        async def receive(message: Msg) -> None:
            self._handlers.submit(self._handle, link, message, handler)

        await link.client.subscribe(subject, queue=queue, cb=receive)

    def _handle(self, link: Link, message: Msg, handler: Handler) -> None:
        try:
            answer = handler(Message(message.subject, message.data, message.headers or {}))
            if answer is not None and message.reply:
                self._run(link.send(message.reply, answer), _CALL_SECONDS)
        except Exception:
            _log.exception("nats_handler_failed", extra={"subject": message.subject})

    async def _close(self) -> None:
        self._closing = True
        link, self._link = self._link, None
        self._linked.clear()
        if link is not None:
            with contextlib.suppress(Exception):
                # Sends verdicts that are still in the buffer.
                await asyncio.wait_for(link.client.close(), _CONNECT_SECONDS)
        await cancel_other_tasks()
