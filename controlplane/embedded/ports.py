"""Ports on loopback."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port that was free a moment ago; whoever uses it must cope with losing the race."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def is_free(port: int) -> bool:
    """True if nobody listens. Asked by connecting: a trial bind fails on connections that just ended."""
    with socket.socket() as caller:
        caller.settimeout(1)
        return caller.connect_ex(("127.0.0.1", port)) != 0
