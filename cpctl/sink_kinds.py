"""Kinds of objects related to events out."""

from __future__ import annotations

from typing import Any

from cpctl.columns import Kind, field, timestamp
from cpctl.output import Column

SINK = Kind(
    "sinks",
    "sinks",
    (
        field("ID"),
        field("NAME"),
        field("KIND"),
        field("STATE"),
        field("REASON"),
        Column("URL", lambda sink: sink["config"].get("url", "")),
        field("FAILURES"),
        field("FLAVOUR", wide=True),
        field("TEAM", wide=True),
        field("CURSOR", "cursor_seq", wide=True),
        field("CREATED BY", "created_by", wide=True),
        timestamp("LAST SUCCESS", "last_success_at", wide=True),
        field("LAST ERROR", "last_error", wide=True),
    ),
    ("sink",),
    frozenset({"state"}),
    key="id",
    object_type="sink",
)
DELIVERY = Kind(
    "deliveries",
    "deliveries",
    (
        field("ID"),
        field("SEQ"),
        field("TYPE"),
        field("STATE"),
        field("ATTEMPTS", "attempt"),
        field("STATUS", "last_status"),
        field("ERROR", "last_error"),
        timestamp("AT", "created_at"),
        field("KEY", wide=True),
        field("EVENT", "event_id", wide=True),
    ),
    (),
    frozenset({"state"}),
    key="id",
)


def sink_fields(sink: dict[str, Any]) -> dict[str, Any]:
    """Return what people write of a sink, for a PUT."""
    names = ("name", "kind", "config", "filter", "flavour", "ordering", "max_in_flight", "per_second")
    return {name: sink[name] for name in names if name in sink}
