"""Pull messages of a consumer over a connection to NATS."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from nats.aio.msg import Msg

from controlplane.messaging import nats_api as api
from controlplane.messaging.nats_link import Link, is_no_responders, read_answer
from controlplane.messaging.nats_types import ConsumerSpec, NatsUnavailable, Received

_GRACE_SECONDS = 2.0


class Inbox:
    """Where the messages of a consumer arrive, with their own subjects, and the ends of requests."""

    def __init__(self, link: Link, consumer: ConsumerSpec) -> None:
        self._link, self._consumer = link, consumer
        self._subject = link.client.new_inbox()
        self._arrived: asyncio.Queue[Msg] = asyncio.Queue()

    async def open(self) -> None:
        await create_consumer(self._link, self._consumer)
        await self._link.client.subscribe(self._subject, cb=self._arrived.put)

    async def pull(self, limit: int, seconds: float) -> list[Received]:
        """Return at most `limit` messages: those that are there, for 0 seconds, or the first ones."""
        stream, name = self._consumer.stream, self._consumer.name
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}"
        await self._link.send(subject, api.pull_request(limit, seconds), self._subject)
        messages: list[Received] = []
        while len(messages) < limit:
            message = await self._next(seconds + _GRACE_SECONDS)
            if message is None or is_no_responders(message):
                # Requests to a missing consumer have no response, or this one.
                await create_consumer(self._link, self._consumer)
                break
            if not message.reply:
                break
            messages.append(_received(self._link, message))
        return messages

    async def _next(self, seconds: float) -> Msg | None:
        if not self._arrived.empty():
            return self._arrived.get_nowait()
        message = asyncio.ensure_future(self._arrived.get())
        in_time = await self._link.wait(message, seconds)
        if not in_time:
            message.cancel()
        return message.result() if in_time else None


async def pull(inbox: Inbox, limit: int, seconds: float) -> list[Received]:
    """Return what is there, or else the first messages within `seconds`.

    Raises NatsUnavailable, and NatsRefused if a missing consumer cannot be created.
    """
    present = await inbox.pull(limit, 0)
    if present or seconds <= 0:
        return present
    first = await inbox.pull(1, seconds)
    return first + await inbox.pull(limit - 1, 0) if first and limit > 1 else first


async def create_consumer(link: Link, consumer: ConsumerSpec) -> None:
    subject = f"$JS.API.CONSUMER.CREATE.{consumer.stream}.{consumer.name}"
    read_answer(await link.call(subject, api.consumer_request(consumer), _GRACE_SECONDS))


def _received(link: Link, message: Msg) -> Received:
    stream, name, deliveries, sequence, stored_at = api.delivery(message.reply)
    return Received(
        message.subject,
        bytes(message.data),
        message.headers or {},
        stream,
        name,
        sequence,
        deliveries,
        stored_at,
        _verdict(link, message.reply),
    )


def _verdict(link: Link, subject: str) -> Callable[[bytes], None]:
    loop = asyncio.get_running_loop()

    async def send(verdict: bytes) -> None:
        with contextlib.suppress(NatsUnavailable):
            await link.send(subject, verdict)

    def submit(verdict: bytes) -> None:
        if not loop.is_closed():
            asyncio.run_coroutine_threadsafe(send(verdict), loop)

    return submit
