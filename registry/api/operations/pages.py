"""Pages of the list of operations, which has rows of several tables."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework.request import Request

from controlplane.api.endpoints import caller_of
from controlplane.api.pages import (
    Page,
    PageRequest,
    Total,
    count_up_to,
    page_request_of,
    read_cursor,
    write_cursor,
)
from controlplane.errors import InvalidCursor
from registry.operations.decisions import Kind
from registry.operations.search import Position, list_operations, matching, position_of

_ORDER = ("-create_time", "-kind", "-key")


def operation_page(request: Request, query: dict[str, Any]) -> Page:
    """Return the page of operations that the request asks for. Raises InvalidCursor."""
    page_request, caller = page_request_of(request, query), caller_of(request)
    after = _position(page_request) if page_request.cursor else None
    operations = list_operations(query, caller, after=after, limit=page_request.limit + 1)
    items, cursor = operations[: page_request.limit], None
    if len(operations) > len(items):
        created, kind, key = position_of(items[-1])
        cursor = write_cursor(page_request, _ORDER, [created.isoformat(), kind.value, key])
    total = _total(query, request) if query.get("include_total") else None
    return Page(items, cursor, total)


def _position(page_request: PageRequest) -> Position:
    created, kind, key = read_cursor(page_request, _ORDER)
    try:
        return (datetime.fromisoformat(created), Kind(kind), key)
    except ValueError as error:
        message = "The cursor is not valid. Request the first page without a cursor."
        raise InvalidCursor(message) from error


def _total(query: dict[str, Any], request: Request) -> Total:
    totals = [count_up_to(rows) for rows in matching(query, caller_of(request))]
    return Total(sum(total.count for total in totals), all(total.is_exact for total in totals))
