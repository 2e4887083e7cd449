"""Hints of operations, and which enums are open."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.api.schema_hints import idempotency, mark_open_enums, pagination, rate_class


def operation(*names: str, where: str = "query") -> dict[str, Any]:
    return {"parameters": [{"name": name, "in": where} for name in names]}


@pytest.mark.parametrize(
    ("names", "cursor"),
    [
        (("limit", "cursor"), "cursor"),
        (("limit", "after", "before"), "before"),
        (("limit", "after"), "after"),
        (("limit",), None),
        (("cursor",), None),
        ((), None),
    ],
)
def test_a_list_is_what_has_a_cursor_and_a_limit(names, cursor):
    hint = pagination(operation(*names))

    assert (hint and hint["cursor_parameter"]) == cursor
    assert hint is None or hint["next_cursor"] == f"next_{cursor}"


@pytest.mark.parametrize(
    ("method", "headers", "is_mutation", "expected"),
    [
        ("get", (), False, "always"),
        ("put", ("If-Match",), True, "always"),
        ("delete", (), True, "always"),
        ("patch", ("If-Match",), True, "never"),
        ("post", (), False, "always"),
        ("post", (), True, "never"),
        ("post", ("Idempotency-Key",), True, "with_key"),
    ],
)
def test_what_a_repetition_does(method, headers, is_mutation, expected):
    assert idempotency(method, operation(*headers, where="header"), is_mutation=is_mutation) == expected


def test_rate_classes():
    assert (rate_class(is_unlimited=True), rate_class(is_unlimited=False)) == ("unlimited", "caller")


def test_an_enum_is_open_if_any_answer_contains_it():
    def reference(name: str) -> dict[str, Any]:
        return {"$ref": f"#/components/schemas/{name}"}

    document: dict[str, Any] = {
        "paths": {
            "/a": {
                "post": {
                    "requestBody": reference("Asked"),
                    "responses": {"200": {"content": {"application/json": {"schema": reference("Answer")}}}},
                }
            }
        },
        "components": {
            "schemas": {
                "Asked": {"properties": {"a": reference("OfRequests")}},
                "Answer": {"properties": {"a": {"type": "array", "items": reference("Part")}}},
                "Part": {"properties": {"a": {"oneOf": [reference("Open")]}, "again": reference("Answer")}},
                "Open": {"enum": ["on", None]},
                "OfRequests": {"enum": ["x"]},
            }
        },
    }
    mark_open_enums(document)

    schemas = document["components"]["schemas"]
    assert schemas["Open"]["x-extensible-enum"] == ["on"]
    assert "x-extensible-enum" not in schemas["OfRequests"]
