"""Events of environments and their fleet guards."""

from __future__ import annotations

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, INTEGER_OR_NULL, TEXT, register
from controlplane.identity.roles import Action

declare_audience("environment", Action.AGENT_READ)
declare_audience("fleet_guard", Action.AGENT_READ)

_GUARD: dict[str, Any] = {"environment": TEXT, "silent": INTEGER, "agents": INTEGER, "reason": TEXT}
ENVIRONMENT_LEASE_CHANGED = register(
    "environment.lease_changed",
    "The lease of an environment's agents was set or reset to the default.",
    environment=TEXT,
    lease_seconds=INTEGER_OR_NULL,
)


# Alerts: one for each environment, or the fleet (empty name), however many agents are silent.
GUARD_ENGAGED = register("fleet_guard.engaged", "Too many agents fell silent at once.", **_GUARD)
GUARD_LIFTED = register(
    "fleet_guard.lifted", "The guard ended; silent agents become unavailable again.", **_GUARD
)
GUARD_OVERRULED = register(
    "fleet_guard.overruled",
    "An operator set the mode of the guard, or made it automatic again.",
    environment=TEXT,
    ruling=TEXT,
)
