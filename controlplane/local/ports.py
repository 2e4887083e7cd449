"""Ports on loopback."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port that was free a moment ago; whoever uses it must cope with losing the race."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def is_served(port: int) -> bool:
    """True if somebody listens there."""
    with socket.socket() as caller:
        caller.settimeout(1)
        return caller.connect_ex(("127.0.0.1", port)) == 0


class ReservedPort:
    """A port that stays ours also while its server is down, so that it comes back at the same address.

    On Linux a bound socket that does not listen keeps the kernel from giving its port away, while
    a server that sets SO_REUSEADDR (Valkey, NATS, granian, and every sane one) may still listen.
    """

    def __init__(self, number: int = 0) -> None:
        """Raises OSError if somebody listens there, or if we may not."""
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", number))
        except OSError:
            self._socket.close()
            raise
        self.number = int(self._socket.getsockname()[1])

    def release(self) -> None:
        self._socket.close()
