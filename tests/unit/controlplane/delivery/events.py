"""An event of the log for tests of what sinks get."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from controlplane.delivery.logged_event import LoggedEvent
from controlplane.scopes import Scope


def logged_event(**changes: Any) -> LoggedEvent:
    """An agent of team eu has gone silent."""
    values: dict[str, Any] = {
        "id": UUID("019a9f5e-7c00-7000-8000-000000000021"),
        "seq": 4711,
        "type": "agent.unavailable",
        "at": datetime(2026, 11, 22, 9, 30, 0, 1, UTC),
        "object_type": "agent",
        "object_id": "eu-1",
        "scope": Scope(domain="production", project="shop"),
        "team": "eu",
        "team_id": UUID(int=7),
        "actor": "system:sweep",
        "request_id": "req-1",
        "data": {
            "name": "eu-1",
            "environment": "prod",
            "labels": {"zone": "a"},
            "missed": 3,
            "guarded": False,
        },
    }
    return LoggedEvent(**{**values, **changes})
