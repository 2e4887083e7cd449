"""Clients that send or read too slowly, as a process: `python -m tests.support.slow_clients`.

Its input is JSON: port, heartbeat and read (requests as text), writers and readers (counts of connections).
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys
from contextlib import suppress

_PIPELINED = 500


def raise_limit_of_files() -> None:
    """Let this process, and those that it starts, open as many files as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _send_slowly(port: int, request: bytes, start: float) -> None:
    """Send a byte per second, and begin again when the server ends the connection."""
    await asyncio.sleep(start)
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            for number in range(len(request)):
                if writer.transport.is_closing():
                    break
                writer.write(request[number : number + 1])
                await asyncio.sleep(1)
            writer.transport.abort()
        await asyncio.sleep(0.1)


async def _never_read(port: int, request: bytes) -> None:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    with suppress(OSError):
        await loop.sock_connect(connection, ("127.0.0.1", port))
        await loop.sock_sendall(connection, request * _PIPELINED)
    await asyncio.Event().wait()


async def _run(port: int, heartbeat: str, read: str, writers: int, readers: int) -> None:
    slow = [_send_slowly(port, heartbeat.encode(), number / writers) for number in range(writers)]
    unread = [_never_read(port, read.encode()) for _ in range(readers)]
    await asyncio.gather(*slow, *unread)


if __name__ == "__main__":
    raise_limit_of_files()
    asyncio.run(_run(**json.load(sys.stdin)))
