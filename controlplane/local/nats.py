"""NATS with JetStream on loopback. Its password, its streams and the key of logins are in the data folder."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.local.binaries import nats_server
from controlplane.local.data_folder import private_folder, write_private
from controlplane.local.programs import Program, ReservedPort
from controlplane.messaging.logins.nkeys import AccountKey, dcm_password, new_seed
from controlplane.messaging.logins.server_config import DCM_USER, Access, access_config

_USER = "controlplane"


@dataclass(frozen=True, slots=True)
class NatsOptions:
    """port: reserved for it, or None for any free one. dcm_agents: whether DCM agents may log in."""

    port: ReservedPort | None = None
    dcm_agents: bool = False


class Nats:
    name = "nats"
    retries = 0

    def __init__(self, folder: Path, log: Path, options: NatsOptions, *, durable: bool) -> None:
        self.folder = folder
        self.log = log
        self.durable = durable
        self.dcm_agents = options.dcm_agents
        self.port = options.port or ReservedPort()
        self.password = secrets.token_hex(24)
        self.seed = _issuer_seed(folder.parent)

    @property
    def url(self) -> str:
        return f"nats://{_USER}:{self.password}@127.0.0.1:{self.port.number}"

    @property
    def environment(self) -> dict[str, str]:
        """Settings besides the URL. A file that the operator named would have precedence over the seed."""
        return {"NATS_ISSUER_SEED": self.seed, "NATS_ISSUER_SEED_FILE": ""}

    @property
    def dcm_url(self) -> str:
        """Return the URL for agents of DCM, or "" if they may not log in."""
        if not self.dcm_agents:
            return ""
        return f"nats://{DCM_USER}:{dcm_password(AccountKey(self.seed))}@127.0.0.1:{self.port.number}"

    def prepare(self, *, pause: Callable[[float], None] = time.sleep) -> None:
        config: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self.port.number,
            **access_config(self._access()),
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

    def _access(self) -> Access:
        key = AccountKey(self.seed)
        shared = dcm_password(key) if self.dcm_agents else ""
        return Access(_USER, self.password, key.public, shared)

    @property
    def _config(self) -> Path:
        return private_folder(self.folder) / "server.json"


def _issuer_seed(folder: Path) -> str:
    """Return the seed of the key that signs logins, which is created once."""
    file = folder / "nats.seed"
    if not file.exists():
        write_private(file, new_seed() + "\n")
    return file.read_text().strip()
