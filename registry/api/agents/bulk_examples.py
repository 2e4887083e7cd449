"""OpenAPI examples of bulk changes."""

from drf_spectacular.utils import OpenApiExample

from registry.api.agents.examples import WHEN

_ID = "019a9f5e-7c00-7000-8000-000000000071"
BULK_CHANGE = {
    "id": _ID,
    "action": "drain",
    "state": "running",
    "selector": {"environment": "prod-eu-west-1", "label_selector": "team=ml"},
    "reason": "Kernel update.",
    "drain_until": None,
    "batch_size": 100,
    "pause_seconds": 5,
    "allow_last_agents": False,
    "impact": {
        "agents": 240,
        "unchanged": 2,
        "by_state": {"ready": 238, "congested": 2},
        "environment_count": 1,
        "by_environment": {"prod-eu-west-1": 240},
        "last_agents": [],
        "work_in_progress": 31,
        "confirm": 240,
    },
    "counts": {
        "total": 240,
        "pending": 140,
        "done": 99,
        "failed": 0,
        "skipped": 1,
        "undone": 0,
        "kept": 0,
    },
    "problem": "",
    "can_cancel": True,
    "can_undo": True,
    "created_by": "ada",
    "undone_by": "",
    "created_at": WHEN,
    "due_at": WHEN,
    "finished_at": None,
}
_ITEM = {
    "agent_id": "019a9f5e-7c00-7000-8000-000000000031",
    "name": "prod-eu-1",
    "environment": "prod-eu-west-1",
    "state": "skipped",
    "reason": "The agent is retired.",
    "changed_at": WHEN,
}
WRITE = OpenApiExample(
    "The agents of a team",
    value={"selector": BULK_CHANGE["selector"], "reason": "Kernel update.", "confirm": 240},
    request_only=True,
)
READ = OpenApiExample("A bulk change", value=BULK_CHANGE, response_only=True, status_codes=["200", "202"])
PAGE = OpenApiExample("A page", value={"items": [BULK_CHANGE], "next_cursor": None}, response_only=True)
ITEM_PAGE = OpenApiExample("A page", value={"items": [_ITEM], "next_cursor": None}, response_only=True)
