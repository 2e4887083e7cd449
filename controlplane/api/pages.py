"""Cursor pagination: keyset queries, and cursors that are signed and bound to path, filters and caller."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.fields import Query
from controlplane.database.instances import load_instances
from controlplane.errors import InvalidCursor

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
_SALT = "page-cursor"
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
        filters = {name: value for name, value in self.parameters.items() if name not in ("cursor", "limit")}
        parts = [self.path, sorted(filters.items()), str(self.principal_id)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Page:
    items: list[Any]
    next_cursor: str | None


def paginate(
    request: Request, rows: QuerySet[Row, Row], *, order: Sequence[str], query: dict[str, Any]
) -> Page:
    """Return the page of `rows` that the parsed parameters of a list request."""
    page_request = PageRequest(
        request.path,
        {name: ",".join(values) for name, values in request.query_params.lists()},
        getattr(request.user, "principal_id", None),
        query.get("cursor", ""),
        min(query["limit"] or DEFAULT_LIMIT, MAX_LIMIT),
    )
    return load_page(page_request, rows, order=order)


def load_page(page_request: PageRequest, rows: QuerySet[Row, Row], *, order: Sequence[str]) -> Page:
    """Return one page of `rows` in `order`, whose last field must be unique. Raises InvalidCursor.

    Fields with a leading minus sign sort descending: all of them, or none.
    """
    digest, limit = page_request.digest(), page_request.limit
    if page_request.cursor:
        rows = rows.filter(_after(order, _read_cursor(page_request.cursor, digest, order)))
    candidates = load_instances(rows.order_by(*order)[: limit + 1])
    items = candidates[:limit]
    if len(candidates) <= limit:
        return Page(items, None)
    key = [_plain(getattr(items[-1], name.lstrip("-"))) for name in order]
    return Page(items, signing.dumps({"key": key, "question": digest, "order": [*order]}, salt=_SALT))


def page_response(request: Request, page: Page, show: Callable[[Any], dict[str, Any]]) -> Response:
    """Return `{items, next_cursor}`, with the cursor also as a Link header (RFC 8288)."""
    response = Response({"items": [show(item) for item in page.items], "next_cursor": page.next_cursor})
    if page.next_cursor:
        parameters = {**dict(request.query_params.lists()), "cursor": [page.next_cursor]}
        response["Link"] = f'<{request.path}?{urlencode(parameters, doseq=True)}>; rel="next"'
    return response


def _after(order: Sequence[str], key: Sequence[Any]) -> Q:
    """Return `(a, b) > (x, y)` as a condition; the leading `a >= x` lets an index find the start."""
    comparison = "lt" if order[0].startswith("-") else "gt"
    fields = [name.lstrip("-") for name in order]
    later = Q()
    for depth, name in enumerate(fields):
        equal = {field: key[i] for i, field in enumerate(fields[:depth])}
        later |= Q(**equal, **{f"{name}__{comparison}": key[depth]})
    return Q(**{f"{fields[0]}__{comparison}e": key[0]}) & later


def _read_cursor(cursor: str, digest: str, order: Sequence[str]) -> list[Any]:
    """Return the key in a cursor, which another release may have given: it may say more, or no order."""
    try:
        content = signing.loads(cursor, salt=_SALT)
        key, question, given = list(content["key"]), content["question"], content.get("order", [*order])
    except (signing.BadSignature, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidCursor("The cursor is not valid. Request the first page without a cursor.") from error
    if question != digest or len(key) != len(order):
        raise InvalidCursor(
            "The cursor belongs to another list, filter or token. Keep these unchanged, or omit the cursor."
        )
    if given != [*order]:
        raise InvalidCursor("The list has another order by now. Request the first page without a cursor.")
    return key


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str) else str(value)
