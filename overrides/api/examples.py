"""Examples for openapi.yaml. A contract test checks each against its schema."""

from typing import Any

from drf_spectacular.utils import OpenApiExample

from controlplane import yaml_text
from overrides.api.serializers import show_resource_type
from overrides.resource_types import BUILT_IN
from overrides.resource_types.operators import define

WHEN = "2026-11-21T09:30:00Z"
_GLOBAL = {"level": "global", "project": "", "domain": "", "workflow": "", "launch_plan": ""}
SCOPE = {
    "level": "project_domain",
    "project": "flytesnacks",
    "domain": "development",
    "workflow": "",
    "launch_plan": "",
}
_WORKFLOW = {**SCOPE, "level": "workflow", "workflow": "train"}
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
_SOURCE = {
    "kind": "override",
    "scope": SCOPE,
    "override_id": _OVERRIDE["id"],
    "version": 2,
    "revision": 41,
    "changed_by": "admin",
    "changed_at": WHEN,
    "change_message": "Training ran out of memory.",
    "declared_in": "",
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
            "attributes": ATTRIBUTES,
            "leaves": [
                {
                    "pointer": "/defaults/cpu",
                    "value": "1",
                    "source": _SOURCE,
                    "why": "project=flytesnacks domain=development sets it, and nothing more specific does.",
                    "shadowed": [
                        {
                            "value": "500m",
                            "source": _PLATFORM,
                            "because": "less_specific",
                            "why_not": "global sets it, but a more specific scope sets it.",
                        }
                    ],
                },
                {
                    "pointer": "/defaults/memory",
                    "value": "500Mi",
                    "source": _PLATFORM,
                    "why": "global sets it, and nothing more specific does.",
                    "shadowed": [],
                },
            ],
            "removed": [],
            "refused": [],
            "rails": [],
        }
    ],
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
}
_RAIL_WRITE = {
    "name": "cpu-cap",
    "scope": {"domain": "production"},
    "resource_type": "task_resource",
    "pointer": "/limits/cpu",
    "rule": {"maximum": "64", "lock_below": "project_domain"},
    "reason": "Bigger machines are ordered through the platform team.",
}
_RAIL = {
    **_RAIL_WRITE,
    "scope": {**_GLOBAL, "level": "domain", "domain": "production"},
    "version": 1,
    "changed_at": WHEN,
    "changed_by": "admin",
}
_TYPE_WRITE = {
    "name": "workflow_priority",
    "title": "Workflow priority",
    "meaning": "Which executions go first.",
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
    "checked_at": WHEN,
    "loaded_at": WHEN,
    "files": ["defaults.yaml"],
    "errors": [],
    "pending": None,
}
_TYPE = show_resource_type(BUILT_IN["task_resource"])
_PROJECT = {
    "id": "flytesnacks",
    "name": "Flyte snacks",
    "description": "Examples that people copy.",
    "labels": {"team": "ml"},
    "state": "active",
    "created_at": WHEN,
    "updated_at": WHEN,
}
_DOMAIN = {"id": "qa", "name": "Quality assurance", "created_at": WHEN}


def _yaml(name: str, value: object, **options: Any) -> OpenApiExample:
    """YAML as text where it is sent, as what it means where it is answered: so tools compare it."""
    shown = yaml_text.dump(value) if options.get("request_only") else value
    return OpenApiExample(name, value=shown, media_type="application/yaml", **options)


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
EFFECTIVE_BATCH_WRITE = request("Two scopes", {"scopes": [{}, {"domain": "development"}]})
EFFECTIVE_BATCH = answer("One answer for each scope", {"items": [_EFFECTIVE]})
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
IMPORTED = answer("What changes", {"plan": PLAN_VALUE, "skipped": []})
SOURCE = answer("Files that are in force", _SOURCE_STATE)
CONFIRMATION = request("Let a set take effect", {"digest": _SOURCE_STATE["digest"]})
RAILS = answer("A page", {"items": [_RAIL], "next_cursor": None})
CHANGED_TYPES = [
    OpenApiExample(
        "The type",
        value=show_resource_type(define(_TYPE_WRITE, version=1)),
        response_only=True,
        status_codes=["200", "201"],
    )
]
PLAN = answer("What changes", PLAN_VALUE)
RAIL = OpenApiExample("The rail", value=_RAIL, response_only=True, status_codes=["200", "201"])
RAIL_WRITE = request("A ceiling and a lock", _RAIL_WRITE)
TYPE_WRITE = request("A type of your own", _TYPE_WRITE)
OWN_TYPE = answer("The type", show_resource_type(define(_TYPE_WRITE, version=1)), "201")
EFFECTIVE = answer("Two values, two sources", _EFFECTIVE)
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
