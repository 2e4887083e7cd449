"""Single questions to NATS, each with a connection of its own, for processes that hold none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from nats.errors import Error as NatsError

from controlplane.messaging import nats_api
from controlplane.messaging.nats_link import Link, connect, read_answer
from controlplane.messaging.nats_types import UNREACHABLE, ConsumerFacts, NatsRefused, NatsUnavailable

_T = TypeVar("_T")


def server_answers(url: str, *, timeout: float) -> bool:
    """True if the server accepts a connection and responds within `timeout` seconds."""

    async def flush(link: Link) -> None:
        await link.client.flush(timeout=int(timeout) or 1)

    try:
        _ask(url, "readiness", flush, timeout)
    except NatsUnavailable:
        return False
    return True


def ask_for_consumer(url: str, stream: str, name: str, *, timeout: float) -> ConsumerFacts | None:
    """Return the consumer as NATS describes it now; None if there is none.

    Raises NatsUnavailable after `timeout` seconds, and NatsRefused.
    """

    async def ask(link: Link) -> ConsumerFacts:
        message = await link.call(f"$JS.API.CONSUMER.INFO.{stream}.{name}", b"", timeout)
        return nats_api.consumer_facts(read_answer(message))

    try:
        return _ask(url, "consumer-info", ask, timeout)
    except NatsRefused as error:
        if error.code not in nats_api.NOT_THERE:
            raise
        return None


def _ask(url: str, name: str, question: Callable[[Link], Awaitable[_T]], timeout: float) -> _T:
    try:
        return asyncio.run(asyncio.wait_for(_connect_and_ask(url, name, question, timeout), timeout))
    except (NatsError, OSError, TimeoutError) as error:
        raise NatsUnavailable(UNREACHABLE) from error


async def _connect_and_ask(
    url: str, name: str, question: Callable[[Link], Awaitable[_T]], timeout: float
) -> _T:
    link = await connect(url, name, timeout=timeout)
    try:
        return await question(link)
    finally:
        await link.client.close()
