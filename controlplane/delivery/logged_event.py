"""An event of the log as sinks see it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """A numbered event. team: name of the team that owns the object; empty for the platform.

    change: what sinks get beside the data, of `controlplane.delivery.changes`.
    """

    id: UUID
    seq: int
    type: str
    at: datetime
    object_type: str
    object_id: str
    scope: Scope
    team: str
    team_id: UUID | None
    actor: str
    request_id: str
    data: Mapping[str, Any]
    change: Mapping[str, Any] = field(default_factory=dict)
    # Of what caused it, or empty.
    traceparent: str = ""

    @property
    def object_key(self) -> str:
        return f"{self.object_type}/{self.object_id}"

    @property
    def whole_data(self) -> dict[str, Any]:
        """Return the data with the change. Some types have a `before` and `after` of their own."""
        return {**self.change, **self.data}
