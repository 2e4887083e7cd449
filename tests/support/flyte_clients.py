"""flytekit's own client, and gRPC servers for it with settings of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keyring
from flytekit.clients.auth.auth_client import AuthorizationClient
from flytekit.clients.friendly import SynchronousFlyteClient
from flytekit.configuration import AuthType, PlatformConfig
from keyring.backend import KeyringBackend

from controlplane.local.programs import free_port
from tests.support.paths import ROOT
from tests.support.waiting import until


class Keyring(KeyringBackend):
    """A keyring in memory."""

    priority = 1.0

    def __init__(self) -> None:
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.passwords[service, username]


@contextmanager
def empty_keyring() -> Iterator[Keyring]:
    """Have flytekit begin without any login."""
    before = keyring.get_keyring()
    ring = Keyring()
    keyring.set_keyring(ring)
    # Flytekit keeps one client for each endpoint.
    type(AuthorizationClient)._instances.clear()
    try:
        yield ring
    finally:
        keyring.set_keyring(before)


def flytekit_client(port: int, mode: AuthType, **more: Any) -> SynchronousFlyteClient:
    return SynchronousFlyteClient(
        PlatformConfig(endpoint=f"127.0.0.1:{port}", insecure=True, auth_mode=mode, rpc_retries=0, **more)
    )


def projects_of(client: SynchronousFlyteClient) -> list[str]:
    projects, _ = client.list_projects_paginated(limit=10)
    return [project.id for project in projects]


@contextmanager
def flyte_server(live: Any, folder: Path, **environment: str) -> Iterator[int]:
    """Run a gRPC server on the database of the running system; give its port."""
    port = free_port()
    log = folder / f"flyte-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "flyte_grpc", "--skip-checks"],
            env={**os.environ, **live.environment, "FLYTE_GRPC_PORT": str(port), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: b"Flyte gRPC on" in log.read_bytes() or process.poll() is not None, 60)
        assert process.poll() is None, log.read_text()
        yield port
    finally:
        process.terminate()
        process.wait()
