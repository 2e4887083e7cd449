"""Recent changes in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Kinds of objects that people and programs change on purpose, with the words for them.
KINDS = {
    "agent_config": "Agent configuration",
    "agent_config_bundle": "Bundle",
    "agent_config_claim": "Claim",
    "approval_policy": "Approval policy",
    "change_request": "Change request",
    "data_plane": "Data plane",
    "domain": "Domain",
    "environment": "Environment",
    "fleet_guard": "Fleet guard",
    "guard_rail": "Guard rail",
    "identity_provider": "Identity provider",
    "installation": "Installation",
    "job": "Job",
    "join_token": "Join token",
    "membership": "Membership",
    "override": "Override",
    "override_change": "Scheduled change",
    "override_freeze": "Freeze",
    "overrides_source": "Overrides source",
    "plugin_config": "Plugin configuration",
    "plugin_release": "Plugin release",
    "principal": "Principal",
    "project": "Project",
    "resource_type": "Resource type",
    "role": "Role",
    "sink": "Event sink",
    "team": "Team",
    "token": "Token",
}
# Of these kinds, and yet no change that somebody made: deliveries, acknowledgements, refusals.
_NOT_CHANGES = frozenset(
    {
        "agent_config.status_changed",
        "agent_config_bundle.applied",
        "agent_config_bundle.unacknowledged",
        "join_token.refused",
        "sink.delivery_discarded",
        "sink.delivery_retried",
    }
)
# Of agents, what people do to them.
_OF_AGENTS = ("agent.draining", "agent.removed", "agent.lease_changed", "agent.taken_over", "agent.rotated")
_SUBJECTS = ("name", "principal", "data_plane", "environment", "slug", "project", "domain", "role")


@dataclass(frozen=True, slots=True)
class Change:
    """A change in words: what was changed, and how."""

    kind: str
    subject: str
    verb: str


def change_types(registered: list[str]) -> list[str]:
    """Return the types of events that report changes."""
    return [
        name
        for name in registered
        if name in _OF_AGENTS or (name.partition(".")[0] in KINDS and name not in _NOT_CHANGES)
    ]


def describe(event_type: str, object_id: str, data: Mapping[str, Any]) -> Change:
    """Return the change that an event reports."""
    kind, _, verb = event_type.partition(".")
    if kind == "override":
        return Change("Override", str(data.get("resource_type", object_id)), verb)
    if kind == "role" and data.get("principal"):
        return Change("Role", f"{data['role']} of {data['principal']}", verb)
    subject = next((str(data[name]) for name in _SUBJECTS if data.get(name)), "")
    if kind == "fleet_guard":
        subject = subject or "the whole fleet"
    return Change(
        KINDS.get(kind, kind.replace("_", " ").capitalize()), subject or object_id, verb.replace("_", " ")
    )
