"""Examples of history for openapi.yaml. A contract test checks each against its schema."""

from overrides.api.examples import ATTRIBUTES, PLAN_VALUE, SCOPE, WHEN, answer, request

_VERSION = {
    "resource_type": "task_resource",
    "scope": SCOPE,
    "version": 2,
    "revision": 41,
    "attributes": ATTRIBUTES,
    "changed_at": WHEN,
    "changed_by": "admin",
    "change_message": "Training ran out of memory.",
    "ticket": "ML-1234",
    "request_id": "019a9f5e-7c00-7000-8000-00000000000a",
    "declared_in": "",
    "commit": "",
}
_EARLIER = {**_VERSION, "version": 1, "revision": 12, "attributes": {"defaults": {"cpu": "1"}}}
_DIFFERENCES = [{"leaf": "/defaults/memory", "after": "500Mi"}]
_REVISION = {
    "revision": 41,
    "made_at": WHEN,
    "made_by": "admin",
    "change_message": "Training ran out of memory.",
    "ticket": "ML-1234",
    "request_id": "019a9f5e-7c00-7000-8000-00000000000a",
    "changes": 1,
    "everything": False,
}
_CHANGE = {
    "resource_type": "task_resource",
    "scope": SCOPE,
    "before": _EARLIER["attributes"],
    "after": ATTRIBUTES,
    "last_change": _VERSION,
    "differences": _DIFFERENCES,
}
_BLAMED = {
    "pointer": "/defaults/memory",
    "value": "500Mi",
    "managers": [],
    **{name: _VERSION[name] for name in ("version", "revision", "changed_at")},
    "changed_by": "system:files",
    "change_message": "Loaded from files at commit 4f1c2ab09d7e86f3518c0e6a7b2d94c5e1f03a68.",
    "ticket": "",
    "request_id": "",
    "declared_in": "teams/ml.yaml:12",
    "commit": "4f1c2ab09d7e86f3518c0e6a7b2d94c5e1f03a68",
}

VERSION = answer("A version", _VERSION)
VERSIONS = answer("A page", {"items": [_VERSION, _EARLIER], "next_cursor": None})
VERSION_DIFF = answer(
    "Memory was added", {"before": _EARLIER, "after": _VERSION, "differences": _DIFFERENCES}
)
REVISION = answer("A revision", _REVISION)
REVISIONS = answer("A page", {"items": [_REVISION], "next_cursor": None})
REVISION_DIFF = answer("One override differs", {"items": [_CHANGE], "next_cursor": None})
BLAME = answer("One value", {"items": [_BLAMED]})
OVERRIDE_ROLLBACK = request("Back to version 1", {"to_version": 1})
SCOPE_ROLLBACK = request("Back to revision 12", {"to_revision": 12})
ROLLED_BACK = answer("Plan", PLAN_VALUE)
