"""Valkey on loopback, with a password, keeping nothing on disk: it may lose everything at any moment."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path

from controlplane.local.binaries import valkey_server
from controlplane.local.ports import ReservedPort
from controlplane.local.private_files import private_folder, write_private
from controlplane.local.programs import Program


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
        # In a file: a command line can be read by every user of the machine. No path in it: none
        # needs quoting then. The title is how a later supervisor knows that it is ours.
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
        return _answers(self.port.number, f"AUTH {self.password}\r\nPING\r\n".encode(), b"+PONG")

    def clear_away(self) -> None:
        self.port.release()

    @property
    def _config(self) -> Path:
        return private_folder(self.folder) / "server.conf"


def _answers(port: int, question: bytes, answer: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(question)
            said = b""
            while answer not in said and (more := connection.recv(4096)):
                said += more
    except OSError:
        return False
    return answer in said
