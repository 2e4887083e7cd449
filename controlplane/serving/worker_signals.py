"""Signs of life from the event loop of each worker to the watching process, once per second.

They are datagrams on an abstract socket: nothing is written to a disk that may be full, and the kernel
guarantees the sender's process id.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import os
import resource
import secrets
import socket
import struct

ADDRESS = "CONTROLPLANE_PULSES"
INTERVAL_SECONDS = 1.0
_CREDENTIALS = struct.Struct("3i")


def open_receiver() -> socket.socket:
    """Bind the receiving socket and store its address in the environment for the workers."""
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    os.environ[ADDRESS] = f"controlplane-pulses-{secrets.token_hex(16)}"
    receiver.bind(f"\0{os.environ[ADDRESS]}")
    return receiver


def receive(receiver: socket.socket) -> int | None:
    """Return the process id of a worker whose sign of life has arrived; None if none has."""
    receiver.setblocking(False)
    try:
        _, ancillary, _, _ = receiver.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
    except OSError:
        return None
    credentials = [data for level, kind, data in ancillary if kind == socket.SCM_CREDENTIALS]
    return _CREDENTIALS.unpack(credentials[0])[0] if credentials else None


async def send_pulses() -> None:
    """Send signs of life until cancelled, if the process is watched."""
    address = os.environ.get(ADDRESS)
    if not address:
        return
    _show_stacks_when_aborted()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        while True:
            with contextlib.suppress(OSError):  # the watcher has exited or is behind
                sender.sendto(b"1", f"\0{address}")
            await asyncio.sleep(INTERVAL_SECONDS)


def _show_stacks_when_aborted() -> None:
    """Log the stacks of a hung worker. Its memory, which contains secrets, is not dumped."""
    faulthandler.enable()
    _, hard_limit = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard_limit))
