"""OpenAPI examples of operations."""

from drf_spectacular.utils import OpenApiExample

from registry.api.agents.examples import WHEN

_KEY = "019a9f5e-7c00-7000-8000-000000000071"
_OPERATION = {
    "id": f"agent_bulk_change.{_KEY}",
    "kind": "agent_bulk_change",
    "action": "drain",
    "state": "running",
    "done": False,
    "progress": {"done": 100, "total": 240},
    "result": None,
    "error": None,
    "can_cancel": True,
    "create_time": WHEN,
    "start_time": WHEN,
    "end_time": None,
    "target": f"/api/v1/agent-bulk-changes/{_KEY}",
}
_DONE = {
    **_OPERATION,
    "state": "succeeded",
    "done": True,
    "progress": {"done": 240, "total": 240},
    "result": {"summary": "240 of 240 agents changed.", "link": _OPERATION["target"]},
    "can_cancel": False,
    "end_time": WHEN,
}
READ = OpenApiExample("A completed operation", value=_DONE, response_only=True)
PAGE = OpenApiExample("A page", value={"items": [_OPERATION], "next_cursor": None}, response_only=True)
