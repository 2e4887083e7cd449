"""Kinds of objects related to the dispatch of resource requests."""

from __future__ import annotations

from cpctl.columns import Kind, field, timestamp
from cpctl.output import Column, Item
from cpctl.scopes import scope_text

RESOURCE = Kind(
    "resources",
    "resources",
    (
        field("ID"),
        field("SERVICE", "service_type"),
        field("STATE"),
        timestamp("SINCE", "state_since"),
        field("AGENT"),
        field("STATUS"),
        Column("SCOPE", scope_text, wide=True),
        field("TEAM", wide=True),
        field("ATTEMPT", "epoch", wide=True),
        field("REASON", wide=True),
        field("LABELS", wide=True),
        field("CREATED BY", "created_by", wide=True),
        timestamp("CREATED AT", "created_at", wide=True),
    ),
    ("resource", "res"),
    frozenset({"state", "service_type", "project", "domain", "agent", "team", "selector", "show_deleted"}),
    key="id",
    object_type="resource",
)
OPERATION = Kind(
    "operations",
    "operations",
    (
        field("ID"),
        field("ACTION"),
        field("STATE"),
        Column("PROGRESS", lambda item: _progress(item["progress"])),
        Column("ERROR", lambda item: (item["error"] or {}).get("detail", "")),
        timestamp("CREATED AT", "create_time"),
        timestamp("ENDED AT", "end_time", wide=True),
        field("TARGET", wide=True),
    ),
    ("operation", "op"),
    frozenset({"state"}),
    key="id",
    name_of=lambda item: str(item["id"]),
)
DEAD_LETTER = Kind(
    "dead-letters",
    "dead-letters",
    (
        field("ID"),
        timestamp("AT", "at"),
        field("STATE"),
        field("SUBJECT"),
        field("RESOURCE", "resource_id"),
        field("REASON"),
        field("STREAM", wide=True),
        field("CONSUMER", wide=True),
        field("SEQUENCE", wide=True),
        field("DELIVERIES", wide=True),
    ),
    ("dead-letter", "dl"),
    frozenset({"state"}),
    key="id",
)
KINDS = (RESOURCE, OPERATION, DEAD_LETTER)
ASSIGNMENTS = (
    field("ATTEMPT", "epoch"),
    field("AGENT"),
    field("STATE"),
    timestamp("SINCE", "since"),
    field("SENT", "tries"),
    field("DELETIONS", "deletion_tries"),
    field("REASON"),
)
TIMELINE = (
    timestamp("AT", "at"),
    field("ATTEMPT", "epoch"),
    field("AGENT"),
    field("WHAT"),
    field("VERDICT"),
    field("TEXT"),
    field("EVENT", "event_id", wide=True),
    field("ACTOR", wide=True),
)


def _progress(progress: Item | None) -> str:
    """Return "100 of 240"; the count alone if the total is unknown."""
    if progress is None:
        return ""
    total = progress["total"]
    return str(progress["done"]) if total is None else f"{progress['done']} of {total}"
