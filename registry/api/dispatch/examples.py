"""OpenAPI examples of resources."""

from drf_spectacular.utils import OpenApiExample

_WHEN = "2026-11-21T09:30:00Z"
_AGENT_ID = "019a9f5e-7c00-7000-8000-000000000031"
_REQUEST = {
    "service_type": "container",
    "spec": {"image": "nginx:1.29", "cpu": 2},
    "project": "flytesnacks",
    "domain": "development",
    "labels": {"app": "web"},
    "placement": {"environment": "prod-eu-west-1"},
}
_RESOURCE = {
    "id": "web",
    **_REQUEST,
    "workflow": "",
    "launch_plan": "",
    "team": "ml",
    "goal": "present",
    "state": "pending",
    "state_since": _WHEN,
    "reason": "It has the fewest waiting messages.",
    "agent": "prod-eu-1",
    "agent_id": _AGENT_ID,
    "epoch": 1,
    "status": "",
    "output": None,
    "created_by": "ada",
    "created_at": _WHEN,
    "updated_at": _WHEN,
    "deleted_at": None,
    "version": 2,
}
_ASSIGNMENT = {
    "epoch": 1,
    "agent": "prod-eu-1",
    "agent_id": _AGENT_ID,
    "state": "provisioning",
    "since": _WHEN,
    "reason": "The agent accepted the request.",
    "tries": 1,
    "proven": True,
    "deletion_tries": 0,
    "refusals": 0,
    "created_at": _WHEN,
    "timeline": [
        {
            "at": _WHEN,
            "what": "dcm.agent.creation-acknowledged",
            "verdict": "applied",
            "text": "The agent accepted the request.",
            "event_id": "019a9f5e-7c00-7000-8000-000000000099",
            "actor": "agent:prod-eu-1",
        }
    ],
}
RESOURCE = OpenApiExample("A resource", value=_RESOURCE, response_only=True, status_codes=["200", "202"])
RESOURCE_REQUEST = OpenApiExample("A container", value=_REQUEST, request_only=True)
RESOURCE_PAGE = OpenApiExample(
    "A page", value={"items": [_RESOURCE], "next_cursor": None}, response_only=True
)
ASSIGNMENTS = OpenApiExample(
    "One assignment", value={"items": [_ASSIGNMENT], "next_cursor": None}, response_only=True
)
