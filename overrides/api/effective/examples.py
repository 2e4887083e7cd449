"""Examples of effective values for openapi.yaml. A contract test checks each against its schema."""

from __future__ import annotations

from typing import Any

from overrides.api.examples import ATTRIBUTES, GLOBAL_SCOPE, SCOPE, WHEN, answer, request

_WORKFLOW = {**SCOPE, "level": "workflow", "workflow": "train"}
_SOURCE = {
    "kind": "override",
    "scope": SCOPE,
    "override_id": "019a9f5e-7c00-7000-8000-000000000001",
    "version": 2,
    "revision": 41,
    "changed_by": "admin",
    "changed_at": WHEN,
    "change_message": "Training ran out of memory.",
    "declared_in": "",
}
_PLATFORM = {
    **_SOURCE,
    "scope": GLOBAL_SCOPE,
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
                    "why": "project=flytesnacks domain=development sets it, and no more specific scope does.",
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
                    "why": "global sets it, and no more specific scope does.",
                    "shadowed": [],
                },
            ],
            "removed": [],
            "refused": [],
            "rails": [],
            "warnings": [],
        }
    ],
}
_SOURCES = [_SOURCE, _PLATFORM]


def _by_index(value: Any) -> Any:
    """Replace each source by its index."""
    if isinstance(value, list):
        return [_by_index(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _SOURCES.index(item) if name == "source" else _by_index(item) for name, item in value.items()
    }


EFFECTIVE_BATCH_WRITE = request("Two scopes", {"scopes": [{}, {"domain": "development"}]})
EFFECTIVE_BATCH = answer(
    "One result for each scope",
    {"sources": _SOURCES, "items": [_by_index(_EFFECTIVE)]},
)
EFFECTIVE = answer("Two values, two sources", _EFFECTIVE)
