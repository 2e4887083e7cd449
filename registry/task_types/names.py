"""A task type and its version, as an agent of the registry names them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

# As agent configurations have it.
NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


@dataclass(frozen=True, slots=True, order=True)
class TaskType:
    """version: empty if the agent tells none."""

    name: str
    version: str = ""
