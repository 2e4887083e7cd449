"""gRPC server for flytectl and flytekit: AdminService, logins, health and reflection.

Requests go to `calls`, like those of HTTP. Unsupported calls have no method: UNIMPLEMENTED.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import grpc
from django.conf import settings
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from controlplane.observability.certificates import note_certificate
from overrides.flyte.grpc_calls import CallHandler
from overrides.flyte.grpc_reads.reads import FlyteReads
from overrides.flyte.grpc_services import add_health_and_reflection, methods

_PROBE_SECONDS = 3.0
# Requests are limited by MAX_BODY_BYTES. Responses can be longer, such as the list of a type.
_MAX_RESPONSE_BYTES = 64 * 1024 * 1024
# Calls that run or wait. Their clients give up long before so many are answered.
_MOST_CALLS = 1000
_GRACE_MS = 60_000


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Where and how the server listens. certificate, key: PEM files, both or neither."""

    address: str
    port: int
    threads: int
    most_bytes: int
    certificate: str = ""
    key: str = ""


class FlyteServer:
    """Must be created in a running event loop."""

    def __init__(self, options: ListenOptions) -> None:
        self._options = options
        self._pool = ThreadPoolExecutor(options.threads, thread_name_prefix="flyte-grpc")
        self._reads = FlyteReads(self._pool) if settings.EFFECTIVE_SNAPSHOT_MIB else None
        self._server = grpc.aio.server(
            handlers=[CallHandler(methods(), self._pool, self._reads)],
            options=[
                ("grpc.max_receive_message_length", options.most_bytes),
                ("grpc.max_send_message_length", _MAX_RESPONSE_BYTES),
                # A second server on the port would get half of the calls.
                ("grpc.so_reuseport", 0),
                *_connection_ages(settings.FLYTE_GRPC_CONNECTION_SECONDS),
            ],
            maximum_concurrent_rpcs=_MOST_CALLS,
        )
        self._health: health.aio.HealthServicer | None = None

    async def start(self) -> int:
        """Listen; return the port. Raises OSError: the port is in use, or the certificate is unreadable."""
        self._health = await add_health_and_reflection(self._server)
        try:
            port = _bind(self._server, self._options)
        except RuntimeError as error:  # grpc's, which tells the cause only in its text
            raise OSError(str(error)) from error
        await self._server.start()
        return port

    async def announce_stop(self) -> None:
        """Be unhealthy from now on, and answer all calls as ever."""
        if self._health is not None:
            await self._health.enter_graceful_shutdown()

    async def stop(self, grace: float) -> None:
        """Answer running calls for at most `grace` seconds, and close all connections."""
        await self.announce_stop()
        await self._server.stop(grace)
        if self._reads is not None:
            await self._reads.close()
        self._pool.shutdown(wait=False, cancel_futures=True)


# Gets the running server and its port.
Until = Callable[[FlyteServer, int], Awaitable[None]]


def _connection_ages(seconds: int) -> list[tuple[str, int]]:
    """Return the options after which clients reconnect, and so find servers that were added. 0: none.

    A fifth more or less, so that the clients of a server that was started first do not come at once.
    """
    if not seconds:
        return []
    age = seconds * 1000 * random.uniform(0.8, 1.2)  # noqa: S311  (jitter)
    # Calls that run then may end.
    return [("grpc.max_connection_age_ms", int(age)), ("grpc.max_connection_age_grace_ms", _GRACE_MS)]


def serve(options: ListenOptions, *, grace: float, until: Until) -> None:
    """Serve until the coroutine function `until` returns. Raises OSError."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(options, grace, until))


def serves(options: ListenOptions) -> bool:
    """Return whether a Flyte server answers at the port of this machine. For container probes."""
    address = f"localhost:{options.port}"
    if options.certificate:
        trusted = grpc.ssl_channel_credentials(Path(options.certificate).read_bytes())
        channel = grpc.secure_channel(address, trusted)
    else:
        channel = grpc.insecure_channel(address)
    with channel:
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=_PROBE_SECONDS, wait_for_ready=True
            )
        except grpc.RpcError:
            return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


async def _serve(options: ListenOptions, grace: float, until: Until) -> None:
    server = FlyteServer(options)
    try:
        await until(server, await server.start())
    finally:
        await server.stop(grace)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:  # an extra
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def _bind(server: grpc.aio.Server, options: ListenOptions) -> int:
    address = f"{options.address}:{options.port}"
    if not options.certificate:
        return int(server.add_insecure_port(address))
    pair = (Path(options.key).read_bytes(), Path(options.certificate).read_bytes())
    note_certificate("flyte_grpc", options.certificate)
    return int(server.add_secure_port(address, grpc.ssl_server_credentials([pair])))
