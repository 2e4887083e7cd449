"""Kinds of approvals for `get`."""

from __future__ import annotations

from cpctl.columns import SCOPE, Kind, field, timestamp

KINDS = (
    Kind(
        "approval-policies",
        "approval-policies",
        (
            field("ID"),
            SCOPE,
            field("APPROVALS"),
            field("CREATED BY", "created_by"),
            field("REASON"),
            timestamp("CREATED AT", "created_at", wide=True),
        ),
        ("approval-policy",),
        key="id",
        object_type="approval_policy",
    ),
    Kind(
        "change-requests",
        "change-requests",
        (
            field("ID"),
            field("TYPE", "resource_type"),
            SCOPE,
            field("STATE"),
            field("REQUIRED", "required_approvals"),
            field("CREATED BY", "created_by"),
            field("MESSAGE"),
            field("TICKET", wide=True),
            timestamp("CREATED AT", "created_at", wide=True),
            field("CLOSED BY", "closed_by", wide=True),
        ),
        ("change-request", "requests"),
        frozenset({"state", "project", "domain", "resource_type"}),
        key="id",
        object_type="change_request",
    ),
)
