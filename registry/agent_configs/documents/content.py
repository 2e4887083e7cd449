"""The content of a valid document, independent of Flyte's dialects. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Operation(StrEnum):
    """Calls that can have their own timeout. LIST is ListAgents or ListConnectors, by dialect."""

    CREATE_TASK = "CreateTask"
    GET_TASK = "GetTask"
    DELETE_TASK = "DeleteTask"
    EXECUTE_TASK_SYNC = "ExecuteTaskSync"
    LIST = "List"


@dataclass(frozen=True, slots=True)
class Deployment:
    """Connection settings of one agent. Durations are nanoseconds; service_config is JSON as written."""

    endpoint: str
    insecure: bool = False
    service_config: str = ""
    default_timeout: int | None = None
    timeouts: Mapping[Operation, int] = field(default_factory=dict)

    @property
    def members(self) -> dict[str, Any]:
        """The settings as JSON. Each recompute writes thousands, and `asdict` takes ten times as long."""
        return {
            "endpoint": self.endpoint,
            "insecure": self.insecure,
            "service_config": self.service_config,
            "default_timeout": self.default_timeout,
            "timeouts": dict(self.timeouts),
        }


@dataclass(frozen=True, slots=True)
class Content:
    """The agents, routes and defaults that one document declares.

    agents: by id. routes: task type -> the id of the agent that serves it, or empty where another document
    of the same team declares it. defaults: task types, in lower case, with the agent plugin as default.
    """

    agents: Mapping[str, Deployment] = field(default_factory=dict)
    routes: Mapping[str, str] = field(default_factory=dict)
    defaults: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """A digest that is equal for equal contents, however they were written."""
        return digest_of(
            {
                "agents": {name: agent.members for name, agent in self.agents.items()},
                "routes": dict(self.routes),
                "defaults": sorted(self.defaults),
            }
        )


def digest_of(value: Any) -> str:
    """Return the SHA-256 of canonical JSON, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
