"""Examples of approval policies and change requests for the OpenAPI description."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample

_PLACE = {"project": "flytesnacks", "domain": "production"}
_SCOPE = {"level": "project_domain", **_PLACE, "workflow": "", "launch_plan": ""}
_POLICY = {
    "id": "0199c2a4-7b1e-7c55-9d0e-3f2a86b1c7d6",
    "scope": {"level": "domain", "project": "", "domain": "production", "workflow": "", "launch_plan": ""},
    "approvals": 2,
    "reason": "Production",
    "created_at": "2030-11-20T09:30:00Z",
    "created_by": "ada",
    "version": 1,
}
POLICY = OpenApiExample("A policy", value=_POLICY, response_only=True)
POLICY_CREATED = OpenApiExample("A policy", value=_POLICY, response_only=True, status_codes=["201"])
POLICY_PAGE = OpenApiExample("Policies", value={"items": [_POLICY], "next_cursor": None}, response_only=True)
POLICY_WRITE = OpenApiExample(
    "Two approvals in production",
    value={"scope": {"domain": "production"}, "approvals": 2, "reason": "Production"},
    request_only=True,
)
POLICY_PATCH = OpenApiExample("One approval", value={"approvals": 1}, request_only=True)

_DIFFERENCES = [{"leaf": "/limits/gpu", "before": "4", "after": "8"}]
_DIGEST = "9f2c44b0a1d84c6b8d2f60e7a5b3c1d0"
_LISTED = {
    "id": "0199c2a4-7b1e-7c55-9d0e-3f2a86b1c7d7",
    "resource_type": "task_resource",
    "scope": _SCOPE,
    "state": "open",
    "way": "patch",
    "document": {"limits": {"gpu": "8"}},
    "attributes": {"limits": {"gpu": "8", "cpu": "16"}},
    "message": "Training of the new model",
    "ticket": "ML-1234",
    "planned_version": 3,
    "planned_at": "2030-11-23T09:30:00Z",
    "digest": _DIGEST,
    "plan": {
        "change": "updated",
        "differences": _DIFFERENCES,
        "affected_scopes": 1,
        "effective": [{"scope": _SCOPE, "differences": _DIFFERENCES}],
    },
    "required_approvals": 2,
    "approvals": [],
    "created_by": "ada",
    "created_at": "2030-11-23T09:30:00Z",
    "closed_at": None,
    "closed_by": "",
    "revision": None,
    "scheduled_change_id": None,
}
_REQUEST = {**_LISTED, "comments": []}
_APPROVALS = [{"reviewer": "grace", "comment": "Fine", "created_at": "2030-11-23T10:00:00Z"}]
_CLOSED = {**_REQUEST, "closed_at": "2030-11-23T11:00:00Z", "closed_by": "grace"}
REQUEST = OpenApiExample("A change request", value=_REQUEST, response_only=True)
REQUEST_CREATED = OpenApiExample("A change request", value=_REQUEST, response_only=True, status_codes=["201"])
REQUEST_APPROVED = OpenApiExample(
    "With one of two approvals", value={**_REQUEST, "approvals": _APPROVALS}, response_only=True
)
REQUEST_REJECTED = OpenApiExample(
    "A rejected change request", value={**_CLOSED, "state": "rejected"}, response_only=True
)
REQUEST_WITHDRAWN = OpenApiExample(
    "A withdrawn change request",
    value={**_CLOSED, "state": "withdrawn", "closed_by": "ada"},
    response_only=True,
)
REQUEST_PUBLISHED = OpenApiExample(
    "A published change request",
    value={
        **_CLOSED,
        "state": "published",
        "approvals": [*_APPROVALS, {**_APPROVALS[0], "reviewer": "alan"}],
        "closed_by": "ada",
        "revision": 42,
    },
    response_only=True,
)
REQUEST_PAGE = OpenApiExample(
    "Change requests", value={"items": [_LISTED], "next_cursor": None}, response_only=True
)
REQUEST_WRITE = OpenApiExample(
    "8 GPUs",
    value={
        "scope": _PLACE,
        "resource_type": "task_resource",
        "patch": {"limits": {"gpu": "8"}},
        "message": "Training of the new model",
        "ticket": "ML-1234",
    },
    request_only=True,
)
APPROVAL_WRITE = OpenApiExample(
    "An approval", value={"digest": _DIGEST, "comment": "Fine"}, request_only=True
)
REJECTION_WRITE = OpenApiExample("A rejection", value={"comment": "The quota has only 4."}, request_only=True)
COMMENT_WRITE = OpenApiExample("A comment", value={"text": "For how long?"}, request_only=True)
PUBLICATION_WRITE = OpenApiExample("At night", value={"at": "2030-11-24T02:00:00Z"}, request_only=True)
