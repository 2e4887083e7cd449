"""Kinds of operations: which rows they are read from, who may see them, and how they are cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from controlplane.access.permissions import may_somewhere
from controlplane.delivery.models import Replay
from controlplane.delivery.sinks import visible_sinks
from controlplane.errors import Conflict
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.bulk_changes.changes import cancel_bulk_change, visible_changes
from registry.dispatch.resources.requests import cancel_resource
from registry.dispatch.resources.search import readable_resources
from registry.operations.decisions import Kind, Operation, OperationState
from registry.operations.shown_rows import show_bulk_change, show_replay, show_resource
from registry.operations.state_filters import of_bulk_change, of_replay, of_resource

# A bigint in PostgreSQL.
_MOST_REPLAYS = 2**63 - 1
_LONGEST_RESOURCE_ID = 63


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of one kind. read_key: None for a key that no row can have.

    event_object: type of the events that tell of its end; empty if there are none, so nobody can wait.
    """

    kind: Kind
    read_action: Action
    visible: Callable[[Caller], QuerySet[Any]]
    of_state: Callable[[OperationState], Q]
    show: Callable[[Any], Operation]
    read_key: Callable[[str], Any]
    cancel: Callable[[Any, Caller, Actor], object]
    event_object: str

    def rows(self, caller: Caller) -> QuerySet[Any]:
        """Return the rows that the caller may read."""
        if not may_somewhere(caller, self.read_action):
            return self.visible(caller).none()
        return self.visible(caller)


def _visible_replays(caller: Caller) -> QuerySet[Replay]:
    return Replay.objects.filter(sink__in=visible_sinks(caller).values("id")).select_related("sink")


def _read_uuid(key: str) -> UUID | None:
    try:
        return UUID(key) if str(UUID(key)) == key else None
    except ValueError:
        return None


def _read_number(key: str) -> int | None:
    is_number = key.isascii() and key.isdigit() and not key.startswith("0")
    return int(key) if is_number and len(key) < 20 and int(key) <= _MOST_REPLAYS else None


def _read_text(key: str) -> str | None:
    return key if len(key) <= _LONGEST_RESOURCE_ID and "\0" not in key else None


def _cancel_bulk_change(key: UUID, caller: Caller, actor: Actor) -> object:
    return cancel_bulk_change(key, caller, actor=actor)


def _cancel_resource(key: str, caller: Caller, actor: Actor) -> object:
    return cancel_resource(key, caller=caller, actor=actor)


def _refuse(key: int, caller: Caller, actor: Actor) -> object:
    raise Conflict("A replay cannot be cancelled. Pause its sink to stop deliveries.")


SOURCES = {
    source.kind: source
    for source in (
        Source(
            Kind.AGENT_BULK_CHANGE,
            Action.AGENT_READ,
            visible_changes,
            of_bulk_change,
            show_bulk_change,
            _read_uuid,
            _cancel_bulk_change,
            "agent_bulk_change",
        ),
        Source(
            Kind.RESOURCE,
            Action.RESOURCE_READ,
            readable_resources,
            of_resource,
            show_resource,
            _read_text,
            _cancel_resource,
            "resource",
        ),
        Source(
            Kind.SINK_REPLAY,
            Action.SINK_READ,
            _visible_replays,
            of_replay,
            show_replay,
            _read_number,
            _refuse,
            "",
        ),
    )
}
