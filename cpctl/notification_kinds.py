"""Kinds of objects related to notifications."""

from __future__ import annotations

from cpctl.columns import Kind, field, timestamp, words
from cpctl.output import Column

RULE = Kind(
    "notification-rules",
    "notification-rules",
    (
        field("ID"),
        field("NAME"),
        field("MODE"),
        field("SEVERITY"),
        field("ACTIVE", "is_active"),
        Column("TYPES", lambda rule: ",".join(rule["when"].get("types") or [])),
        words("CHANNELS", "to", wide=True),
        field("TEAM", wide=True),
        field("CREATED BY", "created_by", wide=True),
    ),
    ("notification-rule",),
    frozenset({"is_active"}),
    key="id",
    object_type="notification_rule",
)
CHANNEL = Kind(
    "notification-channels",
    "notification-channels",
    (
        field("ID"),
        field("NAME"),
        field("KIND"),
        field("STATE"),
        field("FAILURES"),
        field("TEAM", wide=True),
        timestamp("LAST SUCCESS", "last_success_at", wide=True),
        field("LAST ERROR", "last_error", wide=True),
    ),
    ("notification-channel",),
    frozenset({"kind"}),
    key="id",
)
ALERT = Kind(
    "alerts",
    "alerts",
    (
        field("ID"),
        field("STATE"),
        field("SEVERITY"),
        field("TITLE"),
        field("COUNT"),
        timestamp("SINCE", "first_at"),
        field("RULE", wide=True),
        field("ACKNOWLEDGED BY", "acknowledged_by", wide=True),
        timestamp("LAST", "last_at", wide=True),
    ),
    ("alert",),
    frozenset({"state", "severity", "rule"}),
    key="id",
)
KINDS = (RULE, CHANNEL, ALERT)
READ_ONLY = frozenset(
    {
        *("id", "team", "created_by", "version", "created_at", "state", "reason", "secret"),
        *("failures", "last_success_at", "last_failure_at", "last_error"),
    }
)
