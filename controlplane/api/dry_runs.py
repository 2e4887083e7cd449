"""Whether a request only shows what it would change."""

from __future__ import annotations

from rest_framework.request import Request

_TRUE = frozenset({"true", "1"})


def is_dry_run(request: Request) -> bool:
    return request.query_params.get("dry_run", "").lower() in _TRUE
