"""Checks that an answer has an ETag exactly if openapi.yaml says so."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from tests.support.openapi import openapi_document

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def check_described_etag(method: str, response: Any) -> None:
    """Compare a success with the description of its operation."""
    if response.status_code not in (200, 201) or response.streaming:
        return
    route = getattr(response.resolver_match, "route", "")
    if operation := _described(method, route):
        described = operation["responses"].get(str(response.status_code), {})
        has_tag, is_described = response.has_header("ETag"), "ETag" in described.get("headers", {})
        # Actions on an object with a version may add it.
        assert has_tag == is_described or (has_tag and ":" in route), (operation["operationId"], has_tag)


def _described(method: str, route: str) -> dict[str, Any] | None:
    return _operations().get((method, _PARAMETER.sub("{}", f"/{route}")))


@cache
def _operations() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), re.sub(r"{\w+}", "{}", path)): operation
        for path, methods in openapi_document()["paths"].items()
        for method, operation in methods.items()
    }
