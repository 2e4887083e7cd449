"""A gRPC server for Flyte's clients in this process, with the settings of the test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc
from django.db import connection
from flyteidl.service.admin_pb2_grpc import AdminServiceStub

from overrides.flyte.grpc_server import FlyteServer, ListenOptions
from overrides.flyte.grpc_services import most_bytes

_THREADS = 8


@contextmanager
def grpc_stub() -> Iterator[AdminServiceStub]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[FlyteServer, int]:
        server = FlyteServer(ListenOptions("127.0.0.1", 0, _THREADS, most_bytes()))
        return server, await server.start()

    server, port = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        options = [("grpc.max_send_message_length", -1)]
        with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
            yield AdminServiceStub(channel)
    finally:
        _close_connections(server)
        asyncio.run_coroutine_threadsafe(server.stop(1), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def _close_connections(server: FlyteServer) -> None:
    """In every thread of the server, or the test database could not be emptied."""
    together = threading.Barrier(_THREADS)

    def close() -> None:
        together.wait(30)
        connection.close()

    for closed in [server._pool.submit(close) for _ in range(_THREADS)]:
        closed.result(30)
