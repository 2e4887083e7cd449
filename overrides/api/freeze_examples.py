"""Examples of freezes for the OpenAPI description."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

_FREEZE = {
    "id": "0199c2a4-7b1e-7c55-9d0e-3f2a86b1c7d4",
    "scope": {"level": "domain", "project": "", "domain": "production", "workflow": "", "launch_plan": ""},
    "state": "active",
    "starts_at": "2030-11-26T18:00:00Z",
    "ends_at": "2030-11-30T08:00:00Z",
    "reason": "Black Friday",
    "created_at": "2030-11-20T09:30:00Z",
    "created_by": "ada",
    "ended_at": None,
    "ended_by": "",
    "version": 1,
}
FREEZE = OpenApiExample("A freeze", value=_FREEZE, response_only=True)
FREEZE_CREATED = OpenApiExample(
    "A freeze", value={**_FREEZE, "state": "upcoming"}, response_only=True, status_codes=["201"]
)
FREEZE_ENDED = OpenApiExample(
    "An ended freeze",
    value={
        **_FREEZE,
        "state": "ended",
        "ended_at": "2030-11-29T10:00:00Z",
        "ended_by": "ada",
        "version": 2,
    },
    response_only=True,
)
FREEZE_PAGE = OpenApiExample("Freezes", value={"items": [_FREEZE], "next_cursor": None}, response_only=True)
FREEZE_WRITE = OpenApiExample(
    "Production over Black Friday",
    value={
        "scope": {"domain": "production"},
        "starts_at": "2030-11-26T18:00:00Z",
        "ends_at": "2030-11-30T08:00:00Z",
        "reason": "Black Friday",
    },
    request_only=True,
)
FREEZE_PATCH = OpenApiExample("A later end", value={"ends_at": "2030-12-01T08:00:00Z"}, request_only=True)
