"""Valkey on loopback, with a password and without persistence."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path

from controlplane.local.binaries import valkey_server
from controlplane.local.data_folder import private_folder, write_private
from controlplane.local.programs import Program, ReservedPort


class Valkey:
    name = "valkey"
    retries = 0

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder = folder
        self.log = log
        self.port = ReservedPort()
        self.password = secrets.token_hex(24)

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port.number}/0"

    def prepare(self, *, pause: Callable[[float], None] = time.sleep) -> None:
        # In a file, because all users can read a command line. Without paths, which would need quoting. By
        # the title, a later supervisor can identify the process.
        write_private(
            self._config,
            f"bind 127.0.0.1\nport {self.port.number}\nrequirepass {self.password}\n"
            'save ""\nappendonly no\nmaxmemory-policy noeviction\n'
            'proc-title-template "{title} {listen-addr} {config-file}"\n',
        )

    def program(self) -> Program:
        command = (str(valkey_server()), str(self._config))
        return Program(self.name, command, self.log, directory=self.folder)

    def ready(self) -> bool:
        return _responds(self.port.number, f"AUTH {self.password}\r\nPING\r\n".encode(), b"+PONG")

    def clean_up(self) -> None:
        self.port.release()

    @property
    def _config(self) -> Path:
        return private_folder(self.folder) / "server.conf"


def _responds(port: int, request: bytes, reply: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(request)
            received = b""
            while reply not in received and (more := connection.recv(4096)):
                received += more
    except OSError:
        return False
    return reply in received
