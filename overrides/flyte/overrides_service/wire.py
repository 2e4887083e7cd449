"""The messages of `overrides.proto`, made when the module is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flyteidl.admin import matchable_resource_pb2

from overrides.flyte.proto_file import ProtoFile

PACKAGE = "controlplane.overrides.v1"
NAME = "OverridesService"
_FILE = ProtoFile(
    Path(__file__).with_name("overrides.proto"), PACKAGE, NAME, (matchable_resource_pb2.DESCRIPTOR.name,)
)
SERVICE: Any = _FILE.service
REQUESTS = _FILE.requests()


def message_class(name: str) -> type[Any]:
    """Return the class of a message of the file."""
    return _FILE.message_class(name)
