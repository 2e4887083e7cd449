"""The kinds of things that `get` shows: their path, their columns, what names one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cpctl.errors import UsageError
from cpctl.output import Column, Item
from cpctl.scopes import scope_text


def field(title: str, name: str = "", *, wide: bool = False) -> Column:
    key = name or title.lower()
    return Column(title, lambda item: item.get(key), wide)


def moment(title: str, name: str, *, wide: bool = False) -> Column:
    """A time to the second: what a person compares."""
    return Column(title, lambda item: _seconds(item.get(name)), wide)


def words(title: str, name: str, *, wide: bool = False) -> Column:
    return Column(title, lambda item: ",".join(item.get(name) or []), wide)


SCOPE = Column("SCOPE", lambda item: scope_text(item.get("scope")))


def _seconds(at: Any) -> str:
    return str(at)[:19] + "Z" if at else ""


@dataclass(frozen=True, slots=True)
class Kind:
    """filters: parameters that its list takes. key: what one is asked for by; empty if it cannot be."""

    name: str
    path: str
    columns: Sequence[Column]
    aliases: tuple[str, ...] = ()
    filters: frozenset[str] = frozenset()
    key: str = "name"
    object_type: str = ""
    name_of: Callable[[Item], str] | None = None

    def label(self, item: Item) -> str:
        return self.name_of(item) if self.name_of else str(item.get(self.key) or item.get("id", ""))


_OVERRIDE = Kind(
    "overrides",
    "overrides",
    (
        field("TYPE", "resource_type"),
        SCOPE,
        field("VERSION"),
        field("CHANGED BY", "changed_by"),
        moment("CHANGED AT", "changed_at"),
        field("VALUES", "attributes", wide=True),
        field("MESSAGE", "change_message", wide=True),
        field("DECLARED IN", "declared_in", wide=True),
    ),
    ("override", "ov"),
    frozenset({"resource_type", "level", "as_of", "project", "domain", "workflow", "launch_plan"}),
    key="resource_type",
    object_type="override",
    name_of=lambda item: f"{item['resource_type']} {scope_text(item['scope'])}",
)
_AGENT = Kind(
    "agents",
    "agents",
    (
        field("NAME"),
        field("ENVIRONMENT"),
        field("STATE", "health_status"),
        field("LATE"),
        words("SERVICES", "service_types"),
        moment("LAST HEARTBEAT", "last_heartbeat"),
        field("ID", "agent_id", wide=True),
        field("COST", "cost", wide=True),
        field("LAG", "consumer_lag", wide=True),
        field("REASON", "state_reason", wide=True),
        moment("SINCE", "state_since", wide=True),
    ),
    ("agent", "ag"),
    frozenset({"health_status", "environment", "service_type"}),
    key="agent_id",
    object_type="agent",
    name_of=lambda item: str(item["name"]),
)
KINDS = (
    _OVERRIDE,
    _AGENT,
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
        "revisions",
        "overrides/revisions",
        (
            field("REVISION"),
            moment("MADE AT", "made_at"),
            field("MADE BY", "made_by"),
            field("CHANGES"),
            field("MESSAGE", "change_message"),
        ),
        ("revision",),
        key="revision",
    ),
    Kind(
        "fleet-guards",
        "fleet-guards",
        (
            field("ENVIRONMENT"),
            field("ENGAGED"),
            field("SILENT"),
            field("AGENTS"),
            field("REASON", wide=True),
        ),
        ("fleet-guard",),
        key="",
        name_of=lambda item: str(item["environment"] or "fleet"),
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
            moment("EXPIRES AT", "expires_at"),
            moment("REVOKED AT", "revoked_at", wide=True),
        ),
        ("token",),
        key="",
    ),
    Kind(
        "role-bindings",
        "role-bindings",
        (field("ID"), field("PRINCIPAL"), field("ROLE"), SCOPE),
        ("role-binding",),
        key="",
    ),
    Kind(
        "audit",
        "audit",
        (
            moment("AT", "at"),
            field("ACTOR"),
            field("ACTION"),
            field("OBJECT", "object_id"),
            SCOPE,
            field("REASON", wide=True),
            field("REQUEST", "request_id", wide=True),
        ),
        key="",
    ),
)
EVENT_COLUMNS = (
    field("SEQ"),
    moment("AT", "at"),
    field("TYPE"),
    field("OBJECT", "object_id"),
    SCOPE,
    field("ACTOR"),
    field("DATA", wide=True),
)


def kind_named(name: str) -> Kind:
    for kind in KINDS:
        if name.replace("_", "-") in (kind.name, *kind.aliases):
            return kind
    raise UsageError(f"There is no kind {name!r}. Known: {', '.join(kind.name for kind in KINDS)}.")
