"""The messages of `pools.proto`, made when the module is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from overrides.flyte.proto_file import ProtoFile

_FILE = ProtoFile(Path(__file__).with_name("pools.proto"), "controlplane.pools.v1", "PoolService")
SERVICE: Any = _FILE.service
REQUESTS = _FILE.requests()


def message_class(name: str) -> type[Any]:
    """Return the class of a message of the file."""
    return _FILE.message_class(name)
