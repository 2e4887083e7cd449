"""Examples for openapi.yaml. A contract test checks each against its schema."""

from drf_spectacular.utils import OpenApiExample

from overrides.api.serializers import show_resource_type
from overrides.resource_types import BUILT_IN

_WHEN = "2026-11-21T09:30:00Z"
_GLOBAL = {"level": "global", "project": "", "domain": "", "workflow": "", "launch_plan": ""}
_SCOPE = {
    "level": "project_domain",
    "project": "flytesnacks",
    "domain": "development",
    "workflow": "",
    "launch_plan": "",
}
_WORKFLOW = {**_SCOPE, "level": "workflow", "workflow": "train"}
_ATTRIBUTES = {"defaults": {"cpu": "1", "memory": "500Mi"}}
_OVERRIDE = {
    "id": "019a9f5e-7c00-7000-8000-000000000001",
    "resource_type": "task_resource",
    "scope": _SCOPE,
    "attributes": _ATTRIBUTES,
    "version": 2,
    "revision": 41,
    "created_at": _WHEN,
    "changed_at": _WHEN,
    "changed_by": "admin",
    "change_message": "Training ran out of memory.",
}
_SOURCE = {
    "scope": _SCOPE,
    "override_id": _OVERRIDE["id"],
    "version": 2,
    "changed_by": "admin",
    "changed_at": _WHEN,
}
_PLATFORM = {
    **_SOURCE,
    "scope": _GLOBAL,
    "override_id": "019a9f5e-7c00-7000-8000-000000000002",
    "version": 1,
}
_EFFECTIVE = {
    "scope": _WORKFLOW,
    "items": [
        {
            "resource_type": "task_resource",
            "strategy": "merge",
            "attributes": _ATTRIBUTES,
            "leaves": [
                {
                    "pointer": "/defaults/cpu",
                    "value": "1",
                    "source": _SOURCE,
                    "shadowed": [{"value": "500m", "source": _PLATFORM}],
                },
                {
                    "pointer": "/defaults/memory",
                    "value": "500Mi",
                    "source": _PLATFORM,
                    "shadowed": [],
                },
            ],
            "removed": [],
        }
    ],
}
_TYPE = show_resource_type(BUILT_IN["task_resource"])
_PROJECT = {
    "id": "flytesnacks",
    "name": "Flyte snacks",
    "description": "Examples that people copy.",
    "created_at": _WHEN,
}
_DOMAIN = {"id": "qa", "name": "Quality assurance", "created_at": _WHEN}


def _answer(name: str, value: object, status: str = "200") -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=[status])


def _request(name: str, value: object) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


OVERRIDE = _answer("An override", _OVERRIDE)
OVERRIDE_CREATED = _answer("A new override", {**_OVERRIDE, "version": 1}, "201")
OVERRIDE_PAGE = _answer("A page", {"items": [_OVERRIDE], "next_cursor": None})
OVERRIDE_WRITE = _request("Set defaults", {"attributes": _ATTRIBUTES})
OVERRIDE_PATCHES = [
    OpenApiExample(
        "Raise memory, inherit cpu again",
        value={"attributes": {"defaults": {"memory": "1Gi", "cpu": None}}},
        request_only=True,
        media_type=media_type,
    )
    for media_type in ("application/json", "application/merge-patch+json")
]
EFFECTIVE = _answer("Two values, two sources", _EFFECTIVE)
RESOURCE_TYPE = _answer("Task resources", _TYPE)
RESOURCE_TYPES = _answer("One of eight", {"items": [_TYPE], "next_cursor": None})
PROJECT_WRITE = _request("A project", {k: v for k, v in _PROJECT.items() if k != "created_at"})
PROJECT = OpenApiExample("The project", value=_PROJECT, response_only=True, status_codes=["200", "201"])
PROJECT_PAGE = _answer("A page", {"items": [_PROJECT], "next_cursor": None})
DOMAIN_WRITE = _request("A domain", {"id": "qa", "name": "Quality assurance"})
DOMAIN = OpenApiExample("The domain", value=_DOMAIN, response_only=True, status_codes=["200", "201"])
DOMAIN_PAGE = _answer("A page", {"items": [_DOMAIN], "next_cursor": None})
