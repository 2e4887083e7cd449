"""Examples of scheduled changes for the OpenAPI description."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

_SCOPE = {"project": "flytesnacks", "domain": "development", "workflow": "", "launch_plan": ""}
_CHANGE = {
    "id": "0199c2a4-7b1e-7c55-9d0e-3f2a86b1c7d5",
    "resource_type": "task_resource",
    "scope": {"level": "project_domain", **_SCOPE},
    "state": "applied",
    "attributes": {"limits": {"gpu": "8"}},
    "before": {"limits": {"gpu": "4"}},
    "at": "2030-11-23T09:30:00Z",
    "until": "2030-11-29T18:00:00Z",
    "due_at": "2030-11-29T18:00:00Z",
    "problem": "",
    "message": "Training until Friday",
    "planned_version": 3,
    "applied_version": 4,
    "created_by": "ada",
    "created_at": "2030-11-23T09:30:00Z",
    "applied_at": "2030-11-23T09:30:00Z",
    "finished_at": None,
}
CHANGE = OpenApiExample("A change that expires", value=_CHANGE, response_only=True)
CHANGE_CREATED = OpenApiExample(
    "A change that expires", value=_CHANGE, response_only=True, status_codes=["201"]
)
CHANGE_CANCELLED = OpenApiExample(
    "A cancelled change",
    value={**_CHANGE, "state": "cancelled", "due_at": None, "finished_at": "2030-11-25T08:00:00Z"},
    response_only=True,
)
CHANGE_PAGE = OpenApiExample("Changes", value={"items": [_CHANGE], "next_cursor": None}, response_only=True)
CHANGE_WRITE = OpenApiExample(
    "8 GPUs until Friday",
    value={
        "scope": {"project": "flytesnacks", "domain": "development"},
        "resource_type": "task_resource",
        "patch": {"limits": {"gpu": "8"}},
        "until": "2030-11-29T18:00:00Z",
        "message": "Training until Friday",
    },
    request_only=True,
)
