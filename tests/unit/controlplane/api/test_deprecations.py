"""What answers and the OpenAPI document say about what goes away."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from controlplane.api.deprecations import (
    Deprecation,
    Deprecations,
    describe,
    headers_of,
)

GONE = Deprecation(date(2026, 12, 1), date(2027, 12, 1), "use `sort`.")
LATER = Deprecation(date(2027, 1, 1), date(2027, 9, 1), "use `GET /api/v1/new`.")


def test_the_header_fields_have_the_earliest_dates() -> None:
    headers = headers_of([GONE, LATER], '</next>; rel="next"', "https://cp.example.com/api/docs")

    assert headers == {
        "Deprecation": "@1796083200",
        "Sunset": "Wed, 01 Sep 2027 00:00:00 GMT",
        "Link": '</next>; rel="next", <https://cp.example.com/api/docs>; rel="deprecation"; type="text/html"',
    }
    assert headers_of([GONE], "", "/d")["Link"] == '</d>; rel="deprecation"; type="text/html"'


def test_half_a_year_of_notice_is_needed() -> None:
    with pytest.raises(ValueError, match="180 days"):
        Deprecation(date(2026, 12, 1), date(2027, 5, 1), "use `sort`.")


@pytest.mark.parametrize(
    ("method", "parameters", "parts"),
    [
        ("GET", ["limit"], []),
        ("GET", ["limit", "order"], ["?order"]),
        ("DELETE", [], ["DELETE"]),
        ("DELETE", ["order"], ["DELETE", "?order"]),
    ],
)
def test_only_what_a_request_uses_is_announced(method: str, parameters: list[str], parts: list[str]) -> None:
    deprecations = Deprecations({"DELETE": LATER}, {"order": GONE})

    assert [*deprecations.used(method, parameters)] == parts


def test_the_document_marks_operations_and_parameters() -> None:
    def operation() -> dict[str, Any]:
        return {"parameters": [{"in": "query", "name": "order", "description": "Sort order."}]}

    reading, deleting = operation(), operation()
    deprecations = Deprecations({"DELETE": LATER}, {"order": GONE})
    describe(reading, "GET", deprecations)
    describe(deleting, "DELETE", deprecations)

    assert "deprecated" not in reading
    assert reading["parameters"][0] == {
        "in": "query",
        "name": "order",
        "deprecated": True,
        "x-sunset": "2027-12-01",
        "description": "Sort order. Deprecated, until 2027-12-01: use `sort`.",
    }
    assert (deleting["deprecated"], deleting["x-sunset"]) == (True, "2027-09-01")
