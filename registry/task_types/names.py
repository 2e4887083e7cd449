"""Name and version of a task type, as agents of the registry register them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

# The same characters as in agent configurations.
NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


@dataclass(frozen=True, slots=True, order=True)
class TaskType:
    """A task type. version: empty if the agent registered none."""

    name: str
    version: str = ""
