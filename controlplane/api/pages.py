"""Cursor pagination: keyset queries, and cursors that are signed and bound to path, filters and caller."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.field_selection import FULL, VIEWS, FieldSelection, read_selection
from controlplane.api.fields import Query
from controlplane.api.item_shapes import item_shape
from controlplane.api.keysets import after, check_order
from controlplane.api.scans import next_scan
from controlplane.database.instances import load_instances
from controlplane.errors import FieldError, InvalidCursor, InvalidRequest

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
# Counting stops here, so that a total costs little however long the list is.
MOST_COUNTED = 10_000
_SALT = "page-cursor"
_NOT_FILTERS = frozenset({"cursor", "limit", "include_total"})
Row = TypeVar("Row", bound=Model)


class PageQuery(Query):
    """Query parameters of every list. As in AIP-158, 0 means the default, and higher limits are lowered."""

    limit = serializers.IntegerField(
        required=False,
        min_value=0,
        default=DEFAULT_LIMIT,
        help_text=f"Items per page, at most {MAX_LIMIT}.",
    )
    cursor = serializers.CharField(
        required=False,
        help_text="`next_cursor` of the previous page. Keep the other parameters unchanged.",
    )
    include_total = serializers.ChoiceField(
        choices=["estimate"],
        required=False,
        help_text=f"`estimate`: add `total`, which is exact up to {MOST_COUNTED}.",
    )

    only = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Return only these fields of each item, separated by commas; `scope.project` for a part.",
    )
    omit = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Leave out these fields of each item, written as in `only`.",
    )
    view = serializers.ChoiceField(
        choices=VIEWS,
        required=False,
        default=FULL,
        help_text="`basic`: leave out lists and free-form objects, such as labels and attributes.",
    )


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request for one page of the list at `path`. parameters: of the URL, with filters."""

    path: str
    parameters: Mapping[str, str]
    principal_id: UUID | None
    cursor: str = ""
    limit: int = DEFAULT_LIMIT

    def digest(self) -> str:
        """Identify the list: a cursor is valid only for the same path, filters and caller."""
        filters = {name: value for name, value in self.parameters.items() if name not in _NOT_FILTERS}
        parts = [self.path, sorted(filters.items()), str(self.principal_id)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Total:
    """The number of items in a list that the caller may read. is_exact: False if there are more."""

    count: int
    is_exact: bool

    def plus(self, count: int) -> Total:
        return Total(self.count + count, self.is_exact)


@dataclass(frozen=True, slots=True)
class Page:
    """Items, where they continue, and the total of the whole list if it was requested."""

    items: list[Any]
    next_cursor: str | None
    total: Total | None = None


def paginate(
    request: Request,
    rows: QuerySet[Row, Row],
    *,
    order: Sequence[str],
    query: dict[str, Any],
    scanned: QuerySet[Any, Any] | None = None,
) -> Page:
    """Return the page of `rows` that the parsed parameters of a list request. scanned: as of `load_page`."""
    page_request = page_request_of(request, query)
    if scanned is not None and query.get("include_total"):
        message = "A text search of this list has no total. Omit `include_total`, or `q`."
        raise InvalidRequest(message, errors=[FieldError("?include_total", "not_allowed", message)])
    page = load_page(page_request, rows, order=order, scanned=scanned)
    return replace(page, total=count_up_to(rows)) if query.get("include_total") else page


def page_request_of(request: Request, query: dict[str, Any]) -> PageRequest:
    """Return what the parsed parameters of a list request ask for."""
    return PageRequest(
        request.path,
        {name: ",".join(values) for name, values in request.query_params.lists()},
        getattr(request.user, "principal_id", None),
        query.get("cursor", ""),
        min(query["limit"] or DEFAULT_LIMIT, MAX_LIMIT),
    )


def load_page(
    page_request: PageRequest,
    rows: QuerySet[Row, Row],
    *,
    order: Sequence[str],
    scanned: QuerySet[Any, Any] | None = None,
) -> Page:
    """Return one page of `rows` in `order`, whose last field must be unique. Raises InvalidCursor.

    Fields with a leading minus sign sort descending. None may be NULL.
    scanned: rows of a text search, before it and before permissions; a page looks through some of them.
    """
    check_order(rows.model, tuple(order))
    limit = page_request.limit
    rest = after(order, read_cursor(page_request, order)) if page_request.cursor else Q()
    scan = None if scanned is None else next_scan(scanned.filter(rest), order)
    rows = rows.filter(rest, scan.condition) if scan else rows.filter(rest)
    candidates = load_instances(_first(rows, order, limit + 1))
    items = candidates[:limit]
    if len(candidates) <= limit:
        return Page(items, write_cursor(page_request, order, [*map(_plain, scan.last)]) if scan else None)
    return Page(items, write_cursor(page_request, order, key_of(items[-1], order)))


def key_of(row: Model, order: Sequence[str]) -> list[Any]:
    """Return the values of a row that its place in the order depends on."""
    return [_plain(getattr(row, name.lstrip("-"))) for name in order]


def _first(rows: QuerySet[Row, Row], order: Sequence[str], count: int) -> QuerySet[Row, Row]:
    """Return the first `count` rows in `order`.

    Postgres computes what is selected for each row before it sorts by a computed field, and such rows are
    wide: of 100,000 agents by last heartbeat, 319 ms instead of 70. So the primary keys are found first.
    So are they for several keys, which no index has: by state, then name descending, 540 ms instead of 80.
    """
    ordered = rows.order_by(*order)
    is_computed = order[0].lstrip("-") in rows.query.annotations
    directions = {name.startswith("-") for name in order}
    if not is_computed and len(order) <= 2 and len(directions) == 1:
        return ordered[:count]
    return rows.filter(pk__in=ordered.values("pk")[:count]).order_by(*order)


def write_cursor(page_request: PageRequest, order: Sequence[str], key: Sequence[Any]) -> str:
    """Return the cursor of the items after `key`, which has the values of the fields in `order`."""
    return signing.dumps({"key": key, "question": page_request.digest(), "order": [*order]}, salt=_SALT)


def count_up_to(rows: QuerySet[Row, Row], most: int = MOST_COUNTED) -> Total:
    """Return the number of `rows`, counting no more than `most` of them."""
    counted = rows.order_by()[: most + 1].count()
    return Total(min(counted, most), counted <= most)


def page_response(request: Request, page: Page, show: Callable[[Any], dict[str, Any]]) -> Response:
    """Return `{items, next_cursor}` and a requested total; the cursor is also a Link header (RFC 8288).

    Items have the fields that `view`, `only` and `omit` select. Raises InvalidRequest for unknown fields.
    """
    parameters = request.query_params
    selection = _selection(request)
    items = [show(item) for item in page.items]
    if selection != FieldSelection():
        items = [selection.of(item) for item in items]
    response = Response({"items": items, "next_cursor": page.next_cursor})
    if page.total is not None:
        response.data["total"] = asdict(page.total)
    if page.next_cursor:
        following = {**dict(parameters.lists()), "cursor": [page.next_cursor]}
        response["Link"] = f'<{request.path}?{urlencode(following, doseq=True)}>; rel="next"'
    return response


def _selection(request: Request) -> FieldSelection:
    only, omit, view = (request.query_params.get(name, "") for name in ("only", "omit", "view"))
    return read_selection(only, omit, view, item_shape(request)) if only or omit or view else FieldSelection()


def read_cursor(page_request: PageRequest, order: Sequence[str]) -> list[Any]:
    """Return the key in a cursor, which another release may have given: it may say more, or no order.

    Raises InvalidCursor.
    """
    try:
        content = signing.loads(page_request.cursor, salt=_SALT)
        key, question, given = list(content["key"]), content["question"], content.get("order", [*order])
    except (signing.BadSignature, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidCursor("The cursor is not valid. Request the first page without a cursor.") from error
    if question != page_request.digest() or len(key) != len(order):
        raise InvalidCursor(
            "The cursor belongs to another list, filter or token. Keep these unchanged, or omit the cursor."
        )
    if given != [*order]:
        raise InvalidCursor("The list has another order by now. Request the first page without a cursor.")
    return key


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str) else str(value)
