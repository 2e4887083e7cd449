"""Examples for openapi.yaml. A contract test checks each against its schema."""

from typing import Any

from drf_spectacular.utils import OpenApiExample

from controlplane.formats import strict_yaml
from overrides.api.schemas import show_resource_type
from overrides.resource_types import BUILT_IN
from overrides.resource_types.operators import define

WHEN = "2026-11-21T09:30:00Z"
GLOBAL_SCOPE = {"level": "global", "project": "", "domain": "", "workflow": "", "launch_plan": ""}
SCOPE = {
    "level": "project_domain",
    "project": "flytesnacks",
    "domain": "development",
    "workflow": "",
    "launch_plan": "",
}
ATTRIBUTES = {"defaults": {"cpu": "1", "memory": "500Mi"}}
_OVERRIDE = {
    "id": "019a9f5e-7c00-7000-8000-000000000001",
    "resource_type": "task_resource",
    "scope": SCOPE,
    "attributes": ATTRIBUTES,
    "version": 2,
    "revision": 41,
    "created_at": WHEN,
    "changed_at": WHEN,
    "changed_by": "admin",
    "change_message": "Training ran out of memory.",
    "owners": {"/defaults/cpu": ["git"]},
    "declared_in": "",
}
_DOCUMENT = {
    "apiVersion": 1,
    "domain": "development",
    "project": "flytesnacks",
    "kind": "overrides",
    "spec": {
        "taskResources": {"defaults": {"cpu": "1", "memory": "500Mi"}},
        "workflowExecutionConfig": {"inherited": True, "source": "project", "maxParallelism": 25},
    },
    "status": {"version": 41},
}
PLAN_VALUE = {
    "revision": 42,
    "summary": {"created": 1, "updated": 0, "deleted": 0, "unchanged": 0},
    "affected_scopes": 1,
    "affected_agents": {
        "count": 1,
        "items": [{"agent_id": "019a9f5e-7c00-7000-8000-000000000031", "name": "prod-eu-1", "resources": 2}],
    },
    "digest": "9c1f4a86b1d24f0f8f4b6d0c3f1e7a52",
    "confirm": None,
    "confirm_reason": "",
    "installation": [],
    "changes": [
        {
            "resource_type": "task_resource",
            "scope": SCOPE,
            "change": "created",
            "version": 1,
            "differences": [{"leaf": "/defaults/cpu", "after": "1"}],
            "declared_in": "",
        }
    ],
    "effective": [],
    "kept_out": [],
    "warnings": [],
    "frozen_by": [],
    "protected_by": [],
}
_SMALL_PLAN = {
    **PLAN_VALUE,
    "summary": {"created": 0, "updated": 0, "deleted": 0, "unchanged": 0},
    "affected_scopes": 0,
    "affected_agents": {"count": 0, "items": []},
    "changes": [],
}
_RAIL_WRITE = {
    "name": "cpu-cap",
    "scope": {"domain": "production"},
    "resource_type": "task_resource",
    "pointer": "/limits/cpu",
    "rule": {"maximum": "64", "lock_below": "project_domain"},
    "reason": "Ask the platform team for larger machines.",
}
_RAIL = {
    **_RAIL_WRITE,
    "scope": {**GLOBAL_SCOPE, "level": "domain", "domain": "production"},
    "version": 1,
    "changed_at": WHEN,
    "changed_by": "admin",
}
_TYPE_WRITE = {
    "name": "workflow_priority",
    "title": "Workflow priority",
    "meaning": "The order of executions.",
    "schema": {
        "type": "object",
        "properties": {
            "priority": {"type": "integer", "minimum": 0, "maximum": 100},
            "notify": {"type": "array", "items": {"type": "string"}},
        },
        "additionalProperties": False,
    },
    "strategy": "merge",
    "merge": [{"path": "/notify", "rule": "append_unique"}],
    "defaults": {"priority": 50},
    "example": {"priority": 90},
}
_SOURCE_STATE = {
    "source": "file",
    "state": "current",
    "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "revision": 41,
    "commit": "4f1c2ab09d7e86f3518c0e6a7b2d94c5e1f03a68",
    "checked_at": WHEN,
    "loaded_at": WHEN,
    "files": ["defaults.yaml"],
    "errors": [],
    "pending": None,
}
_TYPE = show_resource_type(BUILT_IN["task_resource"])
_OWN_TYPE = {**show_resource_type(define(_TYPE_WRITE, version=1)), "plan": _SMALL_PLAN}
_PROJECT = {
    "id": "flytesnacks",
    "name": "Flyte snacks",
    "description": "Examples to copy.",
    "labels": {"team": "ml"},
    "state": "active",
    "created_at": WHEN,
    "version": 2,
    "updated_at": WHEN,
}
_DOMAIN = {"id": "qa", "name": "Quality assurance", "created_at": WHEN}


def _yaml(name: str, value: object, **options: Any) -> OpenApiExample:
    """Return an example: YAML as text in requests, as parsed content in responses, which tools compare."""
    content = strict_yaml.dump(value) if options.get("request_only") else value
    return OpenApiExample(name, value=content, media_type="application/yaml", **options)


def answer(name: str, value: object, status: str = "200") -> OpenApiExample:
    return OpenApiExample(name, value=value, response_only=True, status_codes=[status])


def request(name: str, value: object) -> OpenApiExample:
    return OpenApiExample(name, value=value, request_only=True)


OVERRIDE = answer("An override", _OVERRIDE)
OVERRIDE_CREATED = answer("A new override", {**_OVERRIDE, "version": 1}, "201")
OVERRIDE_PAGE = answer("A page", {"items": [_OVERRIDE], "next_cursor": None})
OVERRIDE_WRITE = request("Set defaults", {"attributes": ATTRIBUTES})
OVERRIDE_PATCHES = [
    OpenApiExample(
        "Raise memory, inherit cpu again",
        value={"attributes": {"defaults": {"memory": "1Gi", "cpu": None}}},
        request_only=True,
        media_type=media_type,
    )
    for media_type in ("application/json", "application/merge-patch+json")
]
OVERRIDE_PATCHES.append(
    OpenApiExample(
        "Raise memory only",
        # The generator turns it into a list.
        value={"op": "replace", "path": "/attributes/defaults/memory", "value": "1Gi"},
        request_only=True,
        media_type="application/json-patch+json",
    )
)
DOCUMENTS = [
    answer("As JSON", _DOCUMENT),
    _yaml("As YAML", _DOCUMENT, response_only=True, status_codes=["200"]),
]
DOCUMENT_WRITES = [request("As JSON", _DOCUMENT), _yaml("As YAML", _DOCUMENT, request_only=True)]
BUNDLES = [
    request("One document", {"documents": [_DOCUMENT]}),
    _yaml("One document as YAML", _DOCUMENT, request_only=True),
]
EXPORTS = [
    _yaml("A stream of one document", _DOCUMENT, response_only=True, status_codes=["200"]),
    OpenApiExample(
        "As JSON",
        value={"documents": [_DOCUMENT]},
        response_only=True,
        status_codes=["200"],
        media_type="application/json",
    ),
    OpenApiExample(
        "A tar archive",
        value="overrides/flytesnacks/development.yaml...",
        response_only=True,
        status_codes=["200"],
        media_type="application/x-tar",
    ),
]
IMPORT = request(
    "One file",
    {"flytectl_files": {"tra.yaml": "project: flytesnacks\ndefaults:\n  cpu: '1'\n"}, "manager": "git"},
)
IMPORTED = answer("Plan", {"plan": PLAN_VALUE, "skipped": []})
SOURCE = answer("Files in effect", _SOURCE_STATE)
CONFIRMATION = request("Confirm a set of files", {"digest": _SOURCE_STATE["digest"]})
RAILS = answer("A page", {"items": [_RAIL], "next_cursor": None})
CHANGED_TYPES = [
    OpenApiExample(
        "The type",
        value=_OWN_TYPE,
        response_only=True,
        status_codes=["200", "201"],
    )
]
PLAN = answer("Plan", PLAN_VALUE)
_REFUSAL = {
    "type": "/problems/unknown_project",
    "title": "Unknown project",
    "status": 404,
    "code": "unknown_project",
    "detail": "Project 'bilings' does not exist. Did you mean 'billing'?",
    "docs_url": "https://controlplane.example.com/problems/unknown_project",
    "errors": [],
    "request_id": "019a9f5e-7c00-7000-8000-000000000001",
}
DOCUMENT_RESULTS = answer(
    "One document was refused",
    {
        "applied": 1,
        "refused": 1,
        "items": [
            {"pointer": "/documents/0", "status": 200, "plan": _SMALL_PLAN, "problem": None},
            {"pointer": "/documents/1", "status": 404, "plan": None, "problem": _REFUSAL},
        ],
    },
    "207",
)
RAIL = OpenApiExample("The rail", value=_RAIL, response_only=True, status_codes=["200"])
RAIL_WITH_PLAN = OpenApiExample(
    "The rail",
    value={**_RAIL, "plan": _SMALL_PLAN},
    response_only=True,
    status_codes=["200", "201"],
)
RAIL_WRITE = request("A maximum and a lock", _RAIL_WRITE)
TYPE_WRITE = request("An operator-defined type", _TYPE_WRITE)
OWN_TYPE = answer("The type", _OWN_TYPE, "201")
RESOURCE_TYPE = answer("Task resources", _TYPE)
RESOURCE_TYPES = answer("One of eight", {"items": [_TYPE], "next_cursor": None})
PROJECT_WRITE = request("A project", {k: v for k, v in _PROJECT.items() if not k.endswith("_at")})
PROJECT_PATCHES = [
    request("Archive it", {"state": "archived"}),
    OpenApiExample(
        "Archive it",
        value={"state": "archived"},
        request_only=True,
        media_type="application/merge-patch+json",
    ),
]
PROJECT = OpenApiExample("The project", value=_PROJECT, response_only=True, status_codes=["200", "201"])
PROJECT_PAGE = answer("A page", {"items": [_PROJECT], "next_cursor": None})
DOMAIN_WRITE = request("A domain", {"id": "qa", "name": "Quality assurance"})
DOMAIN = OpenApiExample("The domain", value=_DOMAIN, response_only=True, status_codes=["200", "201"])
DOMAIN_PAGE = answer("A page", {"items": [_DOMAIN], "next_cursor": None})
