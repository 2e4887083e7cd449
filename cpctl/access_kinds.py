"""Kinds of objects of access, and their columns."""

from __future__ import annotations

from cpctl.columns import SCOPE, Kind, field, timestamp, words
from cpctl.output import Column, Item
from cpctl.scopes import scope_text


def holder_of(binding: Item) -> str:
    """Return who has the role: a principal, or `team:NAME`."""
    return f"team:{binding['team']}" if binding.get("team") else str(binding.get("principal") or "")


TEAM = Kind(
    "access-teams",
    "teams",
    (
        field("NAME", "slug"),
        field("TITLE"),
        field("ORGANISATION", wide=True),
        field("GROUP", "external_group", wide=True),
        timestamp("CREATED AT", "created_at", wide=True),
    ),
    key="slug",
)
MEMBER = Kind(
    "members",
    "",
    (
        field("PRINCIPAL"),
        field("KIND"),
        field("ACTIVE", "is_active"),
        words("ORIGIN", "via"),
        field("NAME", "display_name", wide=True),
    ),
    key="principal",
)
ROLE = Kind(
    "roles",
    "roles",
    (
        field("NAME"),
        field("BUILT IN", "is_built_in"),
        field("TITLE"),
        words("PERMISSIONS", "actions", wide=True),
    ),
    ("role",),
)
ORGANISATION = Kind(
    "organisations",
    "organisations",
    (field("NAME", "slug"), field("TITLE"), timestamp("CREATED AT", "created_at", wide=True)),
    ("organisation",),
    key="slug",
)
ROLE_BINDING = Kind(
    "role-bindings",
    "role-bindings",
    (
        field("ID"),
        Column("HOLDER", holder_of),
        field("ROLE"),
        SCOPE,
        field("OWNED BY", "owned_by"),
        timestamp("EXPIRES AT", "expires_at"),
        field("ORIGIN", "via", wide=True),
    ),
    ("role-binding",),
    key="",
)
MATRIX_ROW = Kind(
    "principals with this permission",
    "access/matrix",
    (
        field("PRINCIPAL"),
        field("KIND"),
        Column("ROLE", lambda row: row["binding"]["role"]),
        Column("SCOPE", lambda row: scope_text(row["binding"]["scope"])),
        Column("OWNED BY", lambda row: row["binding"]["owned_by"]),
        Column("THROUGH", lambda row: holder_of(row["binding"]) if row["binding"]["team"] else ""),
        Column("ORIGIN", lambda row: row["member_via"] or row["binding"]["via"]),
        Column("BINDING", lambda row: row["binding"]["id"], wide=True),
    ),
    key="principal",
)
KINDS = (ROLE, ORGANISATION, ROLE_BINDING)
