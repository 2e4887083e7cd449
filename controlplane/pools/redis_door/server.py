"""The server of the Redis protocol: connections on the event loop, commands in threads."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog
from django.db import InterfaceError, OperationalError, close_old_connections, connections

from controlplane.errors import MalformedBody
from controlplane.pools.redis_door.commands import DoorOptions, Session
from controlplane.pools.redis_door.protocol import Command, CommandReader, error

# Of all propellers; each has a pool of connections, ten for each processor.
_MOST_CONNECTIONS = 2_000
_CHUNK_BYTES = 16_384
# A connection that has not authenticated by then is closed.
_LOGIN_SECONDS = 10.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int


class RedisDoor:
    """Must be created in a running event loop."""

    def __init__(self, address: Address, options: DoorOptions, *, threads: int) -> None:
        self._address, self._options = address, options
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="pools-redis")
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        """Listen; return the port. Raises OSError if it is in use."""
        self._server = await asyncio.start_server(self._serve, self._address.host, self._address.port)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close all connections; running commands finish."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await asyncio.get_running_loop().run_in_executor(self._threads, connections.close_all)
        self._threads.shutdown()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if len(self._connections) > _MOST_CONNECTIONS:
                writer.write(error("ERR", "max number of clients reached"))
            else:
                await self._answer_all(reader, writer)
            await writer.drain()
        except (OSError, TimeoutError):
            pass  # the client has disconnected, or never logged in
        except MalformedBody as problem:
            writer.write(error("ERR", f"Protocol error: {problem.detail}"))
        finally:
            self._connections.discard(task)
            with contextlib.suppress(OSError):
                writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session, commands = Session(self._options), CommandReader()
        while not session.is_over:
            async with asyncio.timeout(None if session.secret else _LOGIN_SECONDS):
                data = await reader.read(_CHUNK_BYTES)
            if not data:
                return
            for command in commands.feed(data):
                writer.write(await self._run(session, command))
                if session.is_over:
                    return
            await writer.drain()

    async def _run(self, session: Session, command: Command) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._threads, _reply, session, command)


def _reply(session: Session, command: Command) -> bytes:
    """Return the reply, in a thread with a connection to the database of its own."""
    close_old_connections()
    try:
        return session.run(command)
    except (OperationalError, InterfaceError) as problem:
        log.warning("pools_redis.database_unavailable", error=str(problem).strip())
        return error("ERR", "The database did not respond. Nothing was changed: ask again.")
    except Exception:  # a bug in one command must not end the connections of others
        log.exception("pools_redis.failed")
        return error("ERR", "An unexpected error occurred. The log has the cause.")
