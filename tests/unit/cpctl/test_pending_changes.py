"""Until when a value applies, in words."""

from __future__ import annotations

from typing import Any

from cpctl.pending_changes import pending_lines

HERE = "task_resource at project=ads"
BEFORE, AFTER = (
    {"limits": {"cpu": "4", "memory": "1Gi"}},
    {"limits": {"cpu": "8", "memory": "1Gi", "gpu": "1"}},
)


def change(state: str, before: Any = BEFORE, attributes: Any = AFTER) -> dict[str, Any]:
    scope = {"project": "ads", "domain": "", "workflow": "", "launch_plan": ""}
    facts = {"resource_type": "task_resource", "scope": scope, "due_at": "2030-01-05T22:00:00Z"}
    return {**facts, "state": state, "before": before, "attributes": attributes}


def test_what_applied_ends_and_what_is_scheduled_begins() -> None:
    assert pending_lines(change("applied")) == [
        f"{HERE}: /limits/cpu 8 until 2030-01-05T22:00:00Z, then 4",
        f"{HERE}: /limits/gpu 1 until 2030-01-05T22:00:00Z, then inherited",
    ]
    assert pending_lines(change("scheduled", before=None)) == [
        f"{HERE}: /limits/cpu 8 from 2030-01-05T22:00:00Z",
        f"{HERE}: /limits/gpu 1 from 2030-01-05T22:00:00Z",
        f"{HERE}: /limits/memory 1Gi from 2030-01-05T22:00:00Z",
    ]


def test_only_what_is_asked_for_is_named() -> None:
    assert len(pending_lines(change("applied"), lambda pointer: pointer == "/limits/cpu")) == 1
    assert pending_lines(change("applied"), lambda pointer: False) == []


def test_a_deletion_and_a_first_override_have_one_side() -> None:
    assert pending_lines(change("scheduled", attributes=None)) == [f"{HERE}: deleted at 2030-01-05T22:00:00Z"]
    assert len(pending_lines(change("applied", before=None))) == 3
    assert len(pending_lines(change("applied", attributes=None))) == 2
    assert "/a~1b" in pending_lines(change("applied", before={"a/b": 1}, attributes={"a/b": [2]}))[0]
