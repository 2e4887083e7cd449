"""NATS JetStream. Nothing outside this file imports the client; messages leave through the outbox."""

from __future__ import annotations

import asyncio

import nats
from nats.errors import Error as NatsError


def server_answers(url: str, *, timeout: float) -> bool:
    """True if the server at `url` accepts us and answers within `timeout` seconds."""
    try:
        asyncio.run(asyncio.wait_for(_round_trip(url, timeout), timeout))
    except (NatsError, OSError, TimeoutError):
        return False
    return True


async def _round_trip(url: str, timeout: float) -> None:
    client = await nats.connect(url, connect_timeout=timeout, allow_reconnect=False, error_cb=_ignore)
    try:
        await client.flush(timeout=int(timeout) or 1)
    finally:
        await client.close()


async def _ignore(error: Exception) -> None:
    """The connection attempt raises what it met; the client's default would log it once more."""
