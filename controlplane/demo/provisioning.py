"""How the demo's agents answer requests of resources: most run after a moment, one fails, one takes ages."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

FAILS, NEVER_READY = "risk-archive", "notebooks"
_LIVE = {"vm": "RUNNING", "container": "RUNNING", "cluster": "ACTIVE"}

Answer = dict[str, Any]


def answers(agent: str, event: dict[str, Any]) -> Iterable[Answer]:
    """Return the events with which an agent answers a request. Pure but for their ids."""
    data = event["data"]
    resource_id, epoch = data["resource_id"], data.get("epoch")
    about = {"resource_id": resource_id, "agent_name": agent, "epoch": epoch}
    verb = str(event["type"]).rpartition(".")[2]
    if verb == "create":
        return [_event(agent, kind, body) for kind, body in _creation(about, data)]
    if verb == "delete":
        gone = {"id": resource_id, "agent_name": agent, "epoch": epoch, "status": "DELETED"}
        acknowledged = _event(agent, "dcm.agent.deletion-acknowledged", {**about, "status": "DELETING"})
        return [acknowledged, _event(agent, f"dcm.status.{data.get('service_type', 'container')}", gone)]
    cancelled = _event(agent, "dcm.agent.cancel-acknowledged", about)
    return [cancelled, _event(agent, "dcm.agent.deletion-acknowledged", {**about, "status": "DELETED"})]


def _creation(about: dict[str, Any], data: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    resource_id = about["resource_id"]
    if resource_id == FAILS:
        details = "The quota of nodes is used up: 60 requested, 12 left."
        yield "dcm.agent.error", {**about, "error": "NON_RETRYABLE_SP_ERROR", "details": details}
        return
    yield "dcm.agent.creation-acknowledged", about
    if resource_id == NEVER_READY:
        return
    service_type = data["service_type"]
    status = {
        "id": resource_id,
        "agent_name": about["agent_name"],
        "epoch": about["epoch"],
        "status": _LIVE.get(service_type, "RUNNING"),
        "message": "Ready.",
        "output_spec": {"address": f"{resource_id}.internal.example"},
    }
    yield f"dcm.status.{service_type}", status


def _event(agent: str, event_type: str, data: dict[str, Any]) -> Answer:
    return {
        "specversion": "1.0",
        "id": str(uuid.uuid4()),
        "source": f"dcm/agents/{agent}",
        "type": event_type,
        "data": data,
    }
