"""NATS JetStream. Only this module imports its client; messages are sent through the outbox."""

from __future__ import annotations

import asyncio

import nats
from nats.errors import Error as NatsError


def server_answers(url: str, *, timeout: float) -> bool:
    """True if the server accepts a connection and responds within `timeout` seconds."""
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
    """Ignore the error, which `connect` raises too; the client's default would also log it."""
