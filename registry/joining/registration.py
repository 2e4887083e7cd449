"""The registration of an agent. Pure.

The wire contract is DCM's (environment-agents.md 2.1).
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from typing import Any
from uuid import UUID

from registry.agents.states import Cost
from registry.task_types.names import TaskType

# `*`, `>`, a dot or the suffix `.cancel` would let one agent read messages of another (5.4, G13).
TOPIC_NAME = re.compile(r"dcm\.agent\.[A-Za-z0-9_-]+")

# The prefix and a {base} of 239 characters: the agent appends up to 16, and NATS accepts 255 (2.6).
LONGEST_TOPIC_NAME = len("dcm.agent.") + 239


@dataclass(frozen=True, slots=True)
class Registration:
    """The facts of an agent. Without service_types all providers of the agent are unavailable."""

    name: str
    environment: str
    service_types: tuple[str, ...]
    cost: Cost
    topic_name: str
    resources_available: dict[str, Any] | None
    labels: dict[str, str] = field(default_factory=dict)
    capacity: int | None = None
    task_types: tuple[TaskType, ...] = ()
    # The process that registers: not a fact about the agent.
    instance_uuid: UUID | None = field(default=None, metadata={"is_fact": False})

    def facts(self) -> dict[str, Any]:
        """Return the facts as the columns of an agent store them."""
        return {
            **{name: value for name, value in asdict(self).items() if name in FACTS},
            "service_types": list(self.service_types),
            "cost": self.cost.value,
            "task_types": [asdict(task_type) for task_type in self.task_types],
        }


FACTS = tuple(attribute.name for attribute in fields(Registration) if attribute.metadata.get("is_fact", True))
