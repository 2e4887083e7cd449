"""Cursor pages: keyset queries, and cursors that are signed and bound to the question they belong to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.fields import Query
from controlplane.errors import InvalidCursor

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
_SALT = "page-cursor"
Row = TypeVar("Row", bound=Model)


class PageQuery(Query):
    """What every list takes. AIP-158: 0 or absent means the default, too much is lowered."""

    limit = serializers.IntegerField(
        required=False,
        min_value=0,
        default=DEFAULT_LIMIT,
        help_text=f"Items a page; {MAX_LIMIT} at most.",
    )
    cursor = serializers.CharField(
        required=False,
        help_text="`next_cursor` of the page before. Keep the other parameters as they were.",
    )


@dataclass(frozen=True, slots=True)
class Page:
    items: list[Any]
    next_cursor: str | None


def paginate(
    request: Request, rows: QuerySet[Row, Row], *, order: Sequence[str], query: dict[str, Any]
) -> Page:
    """Return one page of `rows`, by `order`, whose last field must be unique.

    Ascending; all fields with a leading minus sign: descending.
    """
    limit = min(query["limit"] or DEFAULT_LIMIT, MAX_LIMIT)
    question = _question(request)
    if cursor := query.get("cursor"):
        rows = rows.filter(_after(order, _read_cursor(cursor, question, len(order))))
    found = list(rows.order_by(*order)[: limit + 1])
    items = found[:limit]
    if len(found) <= limit:
        return Page(items, None)
    key = [_plain(getattr(items[-1], name.lstrip("-"))) for name in order]
    return Page(items, signing.dumps({"key": key, "question": question}, salt=_SALT))


def page_response(request: Request, page: Page, show: Callable[[Any], dict[str, Any]]) -> Response:
    """Answer `{items, next_cursor}`, and the same cursor as a Link header (RFC 8288)."""
    response = Response({"items": [show(item) for item in page.items], "next_cursor": page.next_cursor})
    if page.next_cursor:
        parameters = {**request.query_params.dict(), "cursor": page.next_cursor}
        response["Link"] = f'<{request.path}?{urlencode(parameters)}>; rel="next"'
    return response


def _after(order: Sequence[str], key: Sequence[Any]) -> Q:
    """`(a, b) > (x, y)` as a condition; the leading `a >= x` lets an index find the start."""
    way = "lt" if order[0].startswith("-") else "gt"
    fields = [name.lstrip("-") for name in order]
    later = Q()
    for depth, name in enumerate(fields):
        equal = {field: key[i] for i, field in enumerate(fields[:depth])}
        later |= Q(**equal, **{f"{name}__{way}": key[depth]})
    return Q(**{f"{fields[0]}__{way}e": key[0]}) & later


def _read_cursor(cursor: str, question: str, length: int) -> list[Any]:
    try:
        said = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError) as error:
        raise InvalidCursor("The cursor is not one of ours. Start again without it.") from error
    if said["question"] != question or len(said["key"]) != length:
        raise InvalidCursor(
            "The cursor belongs to another question. Keep filters and token as they were, or start again."
        )
    return list(said["key"])


def _question(request: Request) -> str:
    """What a cursor is bound to: the path, the filters and who asks."""
    filters = {k: v for k, v in request.query_params.items() if k not in ("cursor", "limit")}
    asked = [request.path, sorted(filters.items()), str(getattr(request.user, "principal_id", ""))]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str) else str(value)
