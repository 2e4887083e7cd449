"""Check that responses have the ETag that openapi.yaml promises."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from django.urls import Resolver404

from tests.support.openapi import openapi_document

_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def check_described_etag(method: str, response: Any) -> None:
    """Compare a success with the description of its operation, if it has one."""
    if response.status_code not in (200, 201) or response.streaming:
        return
    operation = _described(method, response)
    if operation is None:
        return
    answer = operation["responses"].get(str(response.status_code), {})
    is_promised = "ETag" in answer.get("headers", {})
    assert response.has_header("ETag") or not is_promised, operation["operationId"]


def _described(method: str, response: Any) -> dict[str, Any] | None:
    try:
        route = response.resolver_match.route
    except Resolver404:  # health checks and other paths that Django does not serve
        return None
    return _operations().get((method, _PARAMETER.sub("{}", f"/{route}")))


@cache
def _operations() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), re.sub(r"{\w+}", "{}", path)): operation
        for path, methods in openapi_document()["paths"].items()
        for method, operation in methods.items()
    }
