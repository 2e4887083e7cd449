"""Outcomes of the documents of a source, for their authors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from registry.agent_configs.models import AgentConfig, AgentConfigStatus, DataPlane
from registry.agent_configs.sources.cluster.event_messages import DataPlaneStatus, DocumentOutcome

_MAX_CONFLICTS = 5


def load_outcomes(source: str) -> Iterable[tuple[AgentConfig, DocumentOutcome]]:
    """Yield the documents of a source with their outcomes."""
    statuses: dict[Any, dict[str, DataPlaneStatus]] = {}
    for status in AgentConfigStatus.objects.filter(document__source=source).order_by("data_plane"):
        statuses.setdefault(status.document_id, {})[status.data_plane_id] = _plane_status(status)
    rows = AgentConfig.objects.filter(source=source, deleted_at=None).defer("text", "content")
    for row in rows.order_by("team", "name"):
        errors = tuple(
            _describe_diagnostic(diagnostic)
            for diagnostic in row.diagnostics
            if diagnostic["severity"] == "error"
        )
        yield row, DocumentOutcome(row.generation, row.content_generation, errors, statuses.get(row.id, {}))


def outcomes_version(source: str) -> Any:
    """Return a value that changes with recomputes, which change statuses, and with generations."""
    planes = tuple(DataPlane.objects.order_by("name").values_list("name", "inputs_digest"))
    rows = AgentConfig.objects.filter(source=source, deleted_at=None).order_by("id")
    return planes, tuple(rows.values_list("id", "generation"))


def _plane_status(row: AgentConfigStatus) -> DataPlaneStatus:
    accepted: dict[str, Any] = next(
        (condition for condition in row.conditions if condition["type"] == "Accepted"), {}
    )
    reason_and_message = (str(accepted.get("reason", "Unknown")), str(accepted.get("message", "")))
    conflicts = tuple(conflict["message"] for conflict in row.conflicts[:_MAX_CONFLICTS])
    return DataPlaneStatus(accepted.get("status") == "True", reason_and_message, conflicts)


def _describe_diagnostic(diagnostic: dict[str, Any]) -> str:
    where = (
        f" ({diagnostic['file']} {diagnostic['line']}:{diagnostic['column']})" if diagnostic["line"] else ""
    )
    return f"{diagnostic['code']}: {diagnostic['message']}{where}"
