"""NATS with JetStream on loopback, with a password; its streams lie in the data folder."""

from __future__ import annotations

import json
import os
import secrets
import socket
from pathlib import Path

from controlplane.embedded.binaries import nats_server
from controlplane.embedded.ports import free_port
from controlplane.embedded.programs import Program

_USER = "controlplane"


class Nats:
    name = "nats"

    def __init__(self, folder: Path, log: Path, *, durable: bool) -> None:
        self.folder = folder.resolve()
        self.log = log
        self.durable = durable
        self.port = free_port()
        self.password = secrets.token_hex(24)

    @property
    def url(self) -> str:
        return f"nats://{_USER}:{self.password}@127.0.0.1:{self.port}"

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        config = {
            "host": "127.0.0.1",
            "port": self.port,
            "authorization": {"user": _USER, "password": self.password},
            "jetstream": {
                "store_dir": str(self.folder),
                # By default it acknowledges first and writes two minutes later (reliability.md 1.1).
                "sync_interval": "always" if self.durable else "2m",
            },
        }
        with os.fdopen(os.open(self._config, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(config, file)

    def clean_up(self) -> None:
        """Nothing lies outside the data folder."""

    def program(self) -> Program:
        return Program(self.name, (str(nats_server()), "-c", str(self._config)), self.log)

    def ready(self) -> bool:
        """It greets with INFO once it listens, JetStream included."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4096).startswith(b"INFO ")
        except OSError:
            return False

    @property
    def _config(self) -> Path:
        return self.folder / "server.json"
