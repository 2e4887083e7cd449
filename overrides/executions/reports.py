"""What Flyte's engine reports of an execution, and what FlyteAdmin knows of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from overrides.executions.phases import Refusal, Subject


@dataclass(frozen=True, slots=True)
class Report:
    """One event of Flyte's engine. step: names the node or task within the execution; empty for workflows.

    version: of a task's phase. message: the request as protobuf-JSON.
    """

    subject: Subject
    project: str
    domain: str
    execution: str
    phase: str
    message: Mapping[str, Any]
    step: str = ""
    version: int = 0
    occurred_at: datetime | None = None
    error_code: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a report does not count, and the phase that was recorded before."""

    refusal: Refusal
    phase: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What FlyteAdmin knows of an execution and its events do not tell. launch_plan: Flyte's identifier."""

    workflow: str
    principal: str
    labels: Mapping[str, str]
    launch_plan: Mapping[str, Any] | None
