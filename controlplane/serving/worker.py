"""A web worker: uvicorn with our HTTP protocol, on a socket that all workers share."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass
from typing import Any

import uvicorn

from controlplane.observability.certificates import note_certificate
from controlplane.observability.traces import exporting
from controlplane.observability.traces.process import start_traces
from controlplane.web.fast_protocol import FastProtocol

# Connections that wait to be accepted, of a fleet that comes back at once. The kernel has a limit of its own.
_BACKLOG = 8192
# What the kernel takes of responses that a client does not read, beyond what is on its way. With the usual
# megabytes, a client that reads nothing would get thousands of requests answered.
_UNSENT_BYTES = 16 * 1024
# Of the time to stop: for what the application closes after its last request, such as database connections.
_CLOSING_SECONDS = 2


def open_socket(host: str, port: int) -> socket.socket:
    """Listen on an address. Raises OSError if another process has the port."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections have the option of their listener.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
    listener.bind(address)
    listener.listen(_BACKLOG)
    listener.setblocking(False)
    return listener


@dataclass(frozen=True, slots=True)
class Serving:
    """stop_seconds: until workers are killed. certificate, key: PEM files for TLS."""

    application: Any
    listener: socket.socket
    stop_seconds: int
    certificate: str | None = None
    key: str | None = None

    def run(self, parent_lives: int) -> None:
        """Serve until SIGTERM, or until the other end of `parent_lives` is closed."""
        if self.certificate:
            note_certificate("web", self.certificate)
        config = uvicorn.Config(
            self.application,
            http=FastProtocol,
            ws="none",
            lifespan="on",
            interface="asgi3",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=max(self.stop_seconds - _CLOSING_SECONDS, 1),
            ssl_certfile=self.certificate,
            ssl_keyfile=self.key,
        )
        # Here and not earlier: threads and connections of the export do not survive a fork.
        start_traces("web")
        _Server(config, parent_lives).run(sockets=[self.listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, parent_lives: int) -> None:
        super().__init__(config)
        self._parent_lives = parent_lives

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().add_reader(self._parent_lives, self._end_as_orphan)
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let streams and long polls end first: uvicorn waits for all connections."""
        stop = getattr(self.config.loaded_app, "stop", None)
        if stop is not None:
            stop()
        await super().shutdown(sockets)
        # Once uvicorn has ended, it kills its process by the signal that it got.
        await asyncio.to_thread(exporting.stop)

    def _end_as_orphan(self) -> None:
        asyncio.get_running_loop().remove_reader(self._parent_lives)
        os.close(self._parent_lives)
        self.should_exit = True
