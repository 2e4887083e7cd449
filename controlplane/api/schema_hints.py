"""Hints for generators in openapi.yaml: pagination, retries, rate limits and open enums. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Operation = Mapping[str, Any]
_SAFE_TO_REPEAT = frozenset({"get", "put", "delete"})
# The parameter that continues a list, and the field of the answer that has its next value.
_CURSORS = {"cursor": "next_cursor", "before": "next_before", "after": "next_after"}

_LIST_TOTAL = {
    "type": "object",
    "description": "The number of items that you may read, if `include_total=estimate` was sent.",
    "properties": {
        "count": {"type": "integer", "description": "Items of all pages."},
        "is_exact": {"type": "boolean", "description": "False: there are more than `count`."},
    },
    "required": ["count", "is_exact"],
}


def pagination(operation: Operation) -> dict[str, str] | None:
    """Return how to get the next page; None if the operation has no pages."""
    parameters = _query_parameters(operation)
    cursor = next((name for name in _CURSORS if name in parameters), None)
    if cursor is None or "limit" not in parameters:
        return None
    return {
        "cursor_parameter": cursor,
        "limit_parameter": "limit",
        "items": "items",
        "next_cursor": _CURSORS[cursor],
    }


def add_totals(document: dict[str, Any]) -> None:
    """Add `total` to the answers of lists that can count their items."""
    schemas = document["components"]["schemas"]
    counted = [
        operation
        for methods in document["paths"].values()
        for operation in methods.values()
        if "include_total" in _query_parameters(operation)
    ]
    for operation in counted:
        for name in _references(operation["responses"].get("200", {})):
            schemas[name]["properties"]["total"] = {"$ref": "#/components/schemas/ListTotal"}
    if counted:
        schemas["ListTotal"] = _LIST_TOTAL


def idempotency(method: str, operation: Operation, *, is_mutation: bool) -> str:
    """Return whether a repetition has the effect of one request: `always`, `with_key` or `never`."""
    if method in _SAFE_TO_REPEAT or (method == "post" and not is_mutation):
        return "always"
    headers = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "header"}
    return "with_key" if "Idempotency-Key" in headers else "never"


def rate_class(*, is_unlimited: bool) -> str:
    """Return which limit counts the operation: that of its `caller`, or none."""
    return "unlimited" if is_unlimited else "caller"


def mark_open_enums(document: dict[str, Any]) -> None:
    """Mark enums of answers: a newer server may send other values, so clients must expect them."""
    schemas = document["components"]["schemas"]
    for name in _in_answers(document):
        schema = schemas.get(name, {})
        if "enum" in schema:
            schema["x-extensible-enum"] = [value for value in schema["enum"] if value is not None]


def _query_parameters(operation: Operation) -> set[str]:
    return {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}


def _in_answers(document: Mapping[str, Any]) -> set[str]:
    """Return the names of all schemas that an answer can contain."""
    reached: set[str] = set()
    waiting = [
        name
        for methods in document["paths"].values()
        for operation in methods.values()
        for name in _references(operation.get("responses", {}))
    ]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _references(document["components"]["schemas"].get(name, {}))
    return reached


def _references(node: Any) -> Iterator[str]:
    """Yield the names of the schemas to which a part of the document refers."""
    if isinstance(node, Mapping):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/components/schemas/"):
            yield reference.rpartition("/")[2]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)
