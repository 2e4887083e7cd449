"""Kinds of objects related to agents."""

from __future__ import annotations

from cpctl.columns import Kind, field, timestamp, words
from cpctl.output import Column, Item

AGENT = Kind(
    "agents",
    "agents",
    (
        field("NAME"),
        field("ENVIRONMENT"),
        field("STATE", "health_status"),
        field("LATE"),
        words("SERVICES", "service_types"),
        timestamp("LAST HEARTBEAT", "last_heartbeat"),
        field("TEAM", wide=True),
        field("ID", "agent_id", wide=True),
        field("COST", "cost", wide=True),
        field("LAG", "consumer_lag", wide=True),
        field("REASON", "state_reason", wide=True),
        timestamp("SINCE", "state_since", wide=True),
    ),
    ("agent", "ag"),
    frozenset({"health_status", "environment", "team", "service_type", "selector", "q", "sort"}),
    key="agent_id",
    object_type="agent",
    name_of=lambda item: str(item["name"]),
)
BULK_CHANGE = Kind(
    "agent-bulk-changes",
    "agent-bulk-changes",
    (
        field("ID"),
        field("ACTION"),
        field("STATE"),
        Column("AGENTS", lambda item: item["counts"]["total"]),
        Column("PENDING", lambda item: item["counts"]["pending"]),
        Column("DONE", lambda item: item["counts"]["done"]),
        Column("FAILED", lambda item: item["counts"]["failed"]),
        Column("SKIPPED", lambda item: item["counts"]["skipped"]),
        field("CREATED BY", "created_by"),
        timestamp("CREATED AT", "created_at"),
        field("REASON", wide=True),
        field("PROBLEM", wide=True),
    ),
    ("agent-bulk-change", "bulk-changes"),
    frozenset({"state"}),
    key="id",
    object_type="agent_bulk_change",
    name_of=lambda item: str(item["id"]),
)
# The agents of one bulk change; no kind of `get`.
BULK_CHANGE_AGENT = Kind(
    "agents",
    "",
    (
        field("NAME"),
        field("ENVIRONMENT"),
        field("STATE"),
        field("REASON"),
        timestamp("CHANGED AT", "changed_at"),
        field("ID", "agent_id", wide=True),
    ),
    key="",
)
FLEET_GUARD = Kind(
    "fleet-guards",
    "fleet-guards",
    (
        Column("ENVIRONMENT", lambda item: item["environment"] or "(whole fleet)"),
        field("ENGAGED"),
        field("SILENT"),
        field("AGENTS"),
        field("REASON", wide=True),
    ),
    ("fleet-guard",),
    frozenset({"engaged"}),
    key="",
    object_type="fleet_guard",
    name_of=lambda item: str(item["environment"] or "fleet"),
)
JOIN_TOKEN = Kind(
    "join-tokens",
    "join-tokens",
    (
        field("ID"),
        field("NAME"),
        field("ADMITS", "name_pattern"),
        field("USES LEFT", "uses_left"),
        timestamp("EXPIRES AT", "expires_at"),
        field("REVOKED"),
        field("ENVIRONMENT", wide=True),
        field("TEAM", wide=True),
        field("APPROVAL", "needs_approval", wide=True),
        field("CREATED BY", "created_by", wide=True),
    ),
    ("join-token",),
    key="",
)
TASK_TYPE = Kind(
    "task-types",
    "task-types",
    (field("NAME"), words("VERSIONS", "versions"), field("AGENTS"), field("LIVE", "live_agents")),
    ("task-type",),
)
AGENT_CONFIG = Kind(
    "agent-configs",
    "agent-configs",
    (
        field("TEAM"),
        field("NAME"),
        field("GENERATION"),
        field("SERVED", "served_generation"),
        field("VALID"),
        field("CHANGED BY", "changed_by"),
        timestamp("CHANGED AT", "changed_at"),
        field("SOURCE", wide=True),
    ),
    ("agent-config", "ac"),
    frozenset({"team", "source", "valid"}),
    object_type="agent_config",
    in_parts=True,
    name_of=lambda item: f"{item['team']}/{item['name']}",
)
DATA_PLANE = Kind(
    "data-planes",
    "data-planes",
    (
        field("NAME"),
        field("RELEASE"),
        field("ACTIVE", "active_revision"),
        field("APPLIED", "applied_revision"),
        field("ACK", "ack_state"),
        Column("HELD", lambda item: len(item["held"]) + len(item.get("held_teams", ()))),
        field("DIALECT", wide=True),
        field("PRINCIPAL", wide=True),
    ),
    ("data-plane", "planes", "plane"),
    object_type="data_plane",
)
CLUSTER = Kind(
    "agent-config-clusters",
    "agent-config-clusters",
    (
        field("NAME"),
        field("STATE"),
        field("DOCUMENTS"),
        words("NAMESPACES", "namespaces"),
        timestamp("CHECKED AT", "checked_at"),
        field("PRINCIPAL", wide=True),
        field("COLLECTOR", wide=True),
    ),
    ("agent-config-cluster", "config-clusters"),
    object_type="agent_config_cluster",
)
BUNDLE = Kind(
    "bundles",
    "agent-config-bundles",
    (
        field("DATA PLANE", "data_plane"),
        field("REVISION"),
        timestamp("CREATED AT", "created_at"),
        field("CREATED BY", "created_by"),
        words("CHANGES", "changes"),
        field("DIGEST", wide=True),
    ),
    ("bundle",),
    frozenset({"data_plane"}),
    key="",
    name_of=lambda item: f"{item['data_plane']}/{item['revision']}",
)
PART = Kind(
    "parts",
    "agent-config-parts",
    (
        field("DATA PLANE", "data_plane"),
        field("TEAM"),
        Column("DOCUMENTS", lambda item: len(item["documents"])),
        words("HELD", "held_changes"),
        field("DIGEST", "held_digest"),
    ),
    ("part",),
    frozenset({"data_plane", "team", "held"}),
    key="",
    name_of=lambda item: f"{item['data_plane']}/{item['team']}",
)
CLAIM = Kind(
    "claims",
    "agent-config-claims",
    (
        field("DATA PLANE", "data_plane"),
        field("KIND"),
        field("NAME"),
        field("TEAM"),
        field("DOCUMENT"),
        field("ESTABLISHED"),
        timestamp("SINCE", "first_accepted_at", wide=True),
    ),
    ("claim",),
    frozenset({"data_plane", "team"}),
    key="",
    name_of=lambda item: f"{item['kind']} {item['name']}",
)
PIN = Kind(
    "pins",
    "agent-config-pins",
    (
        field("KIND"),
        field("NAME"),
        field("TEAM"),
        timestamp("UNTIL", "until"),
        field("REASON"),
        field("CREATED BY", "created_by", wide=True),
    ),
    ("pin",),
    key="",
    name_of=lambda item: f"{item['kind']} {item['name']}",
)
CONFLICT = Kind(
    "conflicts",
    "agent-config-conflicts",
    (
        field("DATA PLANE", "data_plane"),
        field("TEAM"),
        field("DOCUMENT"),
        Column("LOST", lambda item: "; ".join(_lost(conflict) for conflict in item["conflicts"])),
        Column(
            "WHY", lambda item: " ".join(conflict["message"] for conflict in item["conflicts"]), wide=True
        ),
    ),
    ("conflict",),
    frozenset({"data_plane", "team"}),
    key="",
    name_of=lambda item: f"{item['team']}/{item['document']}",
)
TEAM = Kind(
    "teams",
    "agent-config-teams",
    (field("NAME"), field("ORGANISATION"), words("PUBLISHERS", "publishers")),
    ("team",),
)
GRANT = Kind(
    "grants",
    "agent-config-grants",
    (field("ID"), field("TEAM"), field("KIND"), field("PATTERN"), field("BY", "created_by", wide=True)),
    ("grant",),
    key="",
)
KINDS = (
    AGENT,
    BULK_CHANGE,
    FLEET_GUARD,
    JOIN_TOKEN,
    TASK_TYPE,
    AGENT_CONFIG,
    DATA_PLANE,
    CLUSTER,
    BUNDLE,
    PART,
    CLAIM,
    PIN,
    CONFLICT,
    TEAM,
    GRANT,
)


def _lost(conflict: Item) -> str:
    """Return the lost name and its winner, or the reason if the winner is hidden."""
    to = conflict["winner_team"] or conflict["reason"]
    return f"{conflict['kind']} {conflict['name']} to {to}"
