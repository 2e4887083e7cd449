"""NATS with JetStream on loopback, with a password and its streams in the data folder."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from controlplane.local.binaries import nats_server
from controlplane.local.data_folder import private_folder, write_private
from controlplane.local.programs import Program, ReservedPort

_USER = "controlplane"


class Nats:
    name = "nats"
    retries = 0

    def __init__(self, folder: Path, log: Path, *, durable: bool) -> None:
        self.folder = folder
        self.log = log
        self.durable = durable
        self.port = ReservedPort()
        self.password = secrets.token_hex(24)

    @property
    def url(self) -> str:
        return f"nats://{_USER}:{self.password}@127.0.0.1:{self.port.number}"

    def prepare(self, *, pause: Callable[[float], None] = time.sleep) -> None:
        config: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self.port.number,
            "authorization": {"user": _USER, "password": self.password},
            "jetstream": {
                "store_dir": str(self.folder),
                # By default, it acknowledges messages up to two minutes before it syncs them to disk.
                "sync_interval": "always" if self.durable else "2m",
            },
        }
        write_private(self._config, json.dumps(config))

    def program(self) -> Program:
        command = (str(nats_server()), "-c", str(self._config))
        return Program(self.name, command, self.log, directory=self.folder)

    def ready(self) -> bool:
        """True once it sends INFO, which it does after JetStream has started."""
        try:
            with socket.create_connection(("127.0.0.1", self.port.number), timeout=1) as connection:
                return connection.recv(4096).startswith(b"INFO ")
        except OSError:
            return False

    def clean_up(self) -> None:
        self.port.release()

    @property
    def _config(self) -> Path:
        return private_folder(self.folder) / "server.json"
