"""What a configuration file asks for: sinks, and warnings for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CLOUD_EVENTS, EXTERNAL_EVENTS = "flyte-cloud-events", "flyte-external-events"
NAMES = (CLOUD_EVENTS, EXTERNAL_EVENTS)


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """A sink that a section describes. types: of events, for its filter.

    credentials: by name. credential_files: names of credentials with the paths that hold them.
    """

    name: str
    kind: str
    flavour: str
    types: tuple[str, ...]
    config: Mapping[str, Any]
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    credential_files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The sinks of a file. warnings: each with file and line."""

    sinks: tuple[SinkPlan, ...]
    warnings: tuple[str, ...]
