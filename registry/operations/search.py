"""Find, list and cancel operations."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import Q, QuerySet

from controlplane.errors import UnknownOperation
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from registry.operations.decisions import Kind, Operation, OperationState, read_operation_id
from registry.operations.sources import SOURCES, Source

# The place of an operation in the list, newest first: when it was created, kind, and id of its object.
Position = tuple[datetime, Kind, str]
_RANK = {kind: rank for rank, kind in enumerate(Kind)}


def find_operation(text: str, caller: Caller) -> tuple[Source, Operation]:
    """Return the operation with this id. Raises UnknownOperation, also if the caller cannot read it."""
    source, key = _locate(text)
    row = source.rows(caller).filter(pk=key).first()
    if row is None:
        raise _unknown(text)
    return source, source.show(row)


def cancel_operation(text: str, caller: Caller, *, actor: Actor) -> Operation:
    """Cancel what the operation does. Raises UnknownOperation, PermissionDenied, Conflict."""
    source, _ = find_operation(text, caller)
    source.cancel(_locate(text)[1], caller, actor)
    return find_operation(text, caller)[1]


def list_operations(
    query: Mapping[str, Any], caller: Caller, *, after: Position | None, limit: int
) -> list[Operation]:
    """Return the caller's operations that follow `after`, newest first. One query for each kind."""
    pages = [_page(source, query, caller, after, limit) for source in _sources(query)]
    merged: Iterator[Operation] = heapq.merge(*pages, key=_order, reverse=True)
    return list(islice(merged, limit))


def matching(query: Mapping[str, Any], caller: Caller) -> list[QuerySet[Any]]:
    """Return the rows of all operations that match, by kind."""
    return [_filtered(source, query, caller) for source in _sources(query)]


def position_of(operation: Operation) -> Position:
    return (operation.create_time, operation.kind, operation.key)


def _sources(query: Mapping[str, Any]) -> list[Source]:
    return [SOURCES[Kind(query["kind"])]] if "kind" in query else list(SOURCES.values())


def _filtered(source: Source, query: Mapping[str, Any], caller: Caller) -> QuerySet[Any]:
    rows = source.rows(caller)
    return rows.filter(source.of_state(OperationState(query["state"]))) if "state" in query else rows


def _page(
    source: Source, query: Mapping[str, Any], caller: Caller, after: Position | None, limit: int
) -> list[Operation]:
    rows = _filtered(source, query, caller)
    if after is not None:
        rows = rows.filter(_following(source, after))
    return [source.show(row) for row in rows.order_by("-created_at", "-pk")[:limit]]


def _following(source: Source, after: Position) -> Q:
    """Match the rows of the kind that follow the position."""
    created, kind, key = after
    if source.kind is kind:
        return Q(created_at__lt=created) | Q(created_at=created, pk__lt=source.read_key(key))
    # At the same instant, later kinds come first.
    is_next = _RANK[source.kind] < _RANK[kind]
    return Q(created_at__lte=created) if is_next else Q(created_at__lt=created)


def _order(operation: Operation) -> tuple[datetime, int]:
    return (operation.create_time, _RANK[operation.kind])


def _locate(text: str) -> tuple[Source, Any]:
    read = read_operation_id(text)
    source = SOURCES[read[0]] if read else None
    key = source.read_key(read[1]) if source and read else None
    if source is None or key is None:
        raise _unknown(text)
    return source, key


def _unknown(text: str) -> UnknownOperation:
    return UnknownOperation(f"There is no operation {text[:100]}.")
