"""Kinds of objects for `get`."""

from __future__ import annotations

from typing import Any

from cpctl.access_kinds import KINDS as ACCESS_KINDS
from cpctl.agent_kinds import KINDS as AGENT_KINDS
from cpctl.approval_kinds import KINDS as APPROVAL_KINDS
from cpctl.columns import OBJECT, SCOPE, Kind, field, timestamp, words
from cpctl.dispatch_kinds import KINDS as DISPATCH_KINDS
from cpctl.errors import UsageError
from cpctl.login_kinds import KINDS as LOGIN_KINDS
from cpctl.nearest_names import nearest
from cpctl.notification_kinds import KINDS as NOTIFICATION_KINDS
from cpctl.output import Column
from cpctl.pool_kinds import POOL
from cpctl.scopes import scope_text
from cpctl.sink_kinds import SINK


def _managers(item: Any) -> str:
    """Return who manages values of an override."""
    return ",".join(sorted({name for names in item.get("owners", {}).values() for name in names}))


_OVERRIDE = Kind(
    "overrides",
    "overrides",
    (
        field("TYPE", "resource_type"),
        SCOPE,
        field("VERSION"),
        field("CHANGED BY", "changed_by"),
        timestamp("CHANGED AT", "changed_at"),
        field("VALUES", "attributes", wide=True),
        field("MESSAGE", "change_message", wide=True),
        field("DECLARED IN", "declared_in", wide=True),
        Column("MANAGERS", _managers, wide=True),
    ),
    ("override", "ov"),
    frozenset(
        {
            *("resource_type", "level", "as_of", "project", "domain", "workflow", "launch_plan"),
            *("managed_by", "changed_by", "q", "value", "sort"),
        }
    ),
    key="resource_type",
    object_type="override",
    name_of=lambda item: f"{item['resource_type']} {scope_text(item['scope'])}",
)
KINDS = (
    _OVERRIDE,
    *AGENT_KINDS,
    *DISPATCH_KINDS,
    POOL,
    SINK,
    *NOTIFICATION_KINDS,
    Kind(
        "projects",
        "scopes/projects",
        (
            field("ID"),
            field("NAME"),
            field("STATE"),
            field("DESCRIPTION", wide=True),
            field("LABELS", wide=True),
        ),
        ("project",),
        frozenset({"q", "selector", "sort"}),
        key="id",
        object_type="project",
    ),
    Kind("domains", "scopes/domains", (field("ID"), field("NAME")), ("domain",), key="id"),
    Kind(
        "resource-types",
        "resource-types",
        (
            field("NAME"),
            field("STRATEGY"),
            field("DOCUMENT KEY", "document_key"),
            field("BUILT IN", "built_in"),
            words("LEVELS", "levels", wide=True),
            field("MEANING", wide=True),
        ),
        ("resource-type", "types", "type"),
        frozenset({"as_of"}),
    ),
    Kind(
        "guard-rails",
        "guard-rails",
        (
            field("NAME"),
            SCOPE,
            field("TYPE", "resource_type"),
            field("POINTER"),
            field("RULE"),
            field("REASON", wide=True),
        ),
        ("guard-rail", "rails", "rail"),
        frozenset({"as_of", "resource_type"}),
    ),
    Kind(
        "override-changes",
        "override-changes",
        (
            field("ID"),
            field("TYPE", "resource_type"),
            SCOPE,
            field("STATE"),
            timestamp("AT", "at"),
            timestamp("UNTIL", "until"),
            field("CREATED BY", "created_by"),
            field("PROBLEM"),
            field("MESSAGE", wide=True),
        ),
        ("override-change", "changes", "change"),
        frozenset({"state", "project", "domain", "resource_type"}),
        key="id",
        object_type="override_change",
    ),
    Kind(
        "override-freezes",
        "override-freezes",
        (
            field("ID"),
            SCOPE,
            field("STATE"),
            timestamp("STARTS AT", "starts_at"),
            timestamp("ENDS AT", "ends_at"),
            field("CREATED BY", "created_by"),
            field("REASON"),
            field("ENDED BY", "ended_by", wide=True),
        ),
        ("override-freeze", "freezes", "freeze"),
        frozenset({"state"}),
        key="id",
        object_type="override_freeze",
    ),
    *APPROVAL_KINDS,
    Kind(
        "revisions",
        "overrides/revisions",
        (
            field("REVISION"),
            timestamp("MADE AT", "made_at"),
            field("MADE BY", "made_by"),
            field("CHANGES"),
            field("MESSAGE", "change_message"),
        ),
        ("revision",),
        key="revision",
    ),
    Kind(
        "principals",
        "principals",
        (field("NAME"), field("KIND"), field("ACTIVE", "is_active")),
        ("principal",),
    ),
    Kind(
        "tokens",
        "tokens",
        (
            field("ID"),
            field("PRINCIPAL"),
            field("NAME"),
            field("HINT"),
            timestamp("EXPIRES AT", "expires_at"),
            timestamp("REVOKED AT", "revoked_at", wide=True),
        ),
        ("token",),
        key="",
    ),
    Kind(
        "sessions",
        "sessions",
        (
            field("ID"),
            field("PRINCIPAL"),
            field("BROWSER"),
            field("ADDRESS"),
            timestamp("LAST USED AT", "last_used_at"),
            timestamp("CREATED AT", "created_at", wide=True),
        ),
        ("session",),
        key="",
    ),
    *ACCESS_KINDS,
    *LOGIN_KINDS,
    Kind(
        "audit",
        "audit",
        (
            timestamp("AT", "at"),
            field("ACTOR"),
            field("ACTION"),
            *OBJECT,
            SCOPE,
            field("REASON", wide=True),
            field("REQUEST", "request_id", wide=True),
        ),
        filters=frozenset({"actor", "object_type", "object_id", "request_id", "since", "until"}),
        key="",
    ),
)
EVENT_COLUMNS = (
    field("SEQ"),
    timestamp("AT", "at"),
    field("TYPE"),
    *OBJECT,
    SCOPE,
    field("ACTOR"),
    field("DATA", wide=True),
)


def kind_named(name: str) -> Kind:
    for kind in KINDS:
        if name.replace("_", "-") in (kind.name, *kind.aliases):
            return kind
    names = [kind.name for kind in KINDS]
    suggestion = nearest(name, [*names, *(alias for kind in KINDS for alias in kind.aliases)])
    raise UsageError(f"Unknown kind {name!r}.{suggestion} Kinds: {', '.join(names)}.")
