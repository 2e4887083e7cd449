"""Valkey on loopback, with a password, keeping nothing on disk: it may lose everything at any moment."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from controlplane.embedded.binaries import valkey_server
from controlplane.embedded.ports import free_port
from controlplane.embedded.programs import Program


class Valkey:
    name = "valkey"

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder = folder.resolve()
        self.log = log
        self.port = free_port()
        self.password = secrets.token_hex(24)

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def clean_up(self) -> None:
        """Nothing lies outside the data folder."""

    def program(self) -> Program:
        # By standard input: a command line can be read by every user of the machine.
        config = (
            f"bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\n"
            f'save ""\nappendonly no\nmaxmemory-policy noeviction\ndir {self.folder}\n'
        )
        return Program(self.name, (str(valkey_server()), "-"), self.log, stdin=config.encode())

    def ready(self) -> bool:
        return _answers(self.port, f"AUTH {self.password}\r\nPING\r\n".encode(), b"+PONG")


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
