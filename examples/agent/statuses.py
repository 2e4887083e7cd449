"""What the agent reports of its resources without being asked: their statuses, and that they are gone."""

from __future__ import annotations

import logging
import threading
import uuid
from datetime import UTC, datetime
from typing import Any

import provider_calls
from provider_calls import ProviderFailed
from work_file import WorkFile

log = logging.getLogger("agent")


class Statuses:
    """unsent: set when there is an event to send."""

    def __init__(self, name: str, memory: WorkFile, unsent: threading.Event) -> None:
        self.name, self.memory, self.unsent = name, memory, unsent

    def look_at(self, resource_id: str) -> None:
        """Report the resource's status if it has changed, or that the resource is gone."""
        known = self.memory.resources.get(resource_id)
        # Checked before the call as well: what is missing now may exist once its creation is answered.
        if known is None or self._is_being_handled(resource_id):
            return
        try:
            seen = provider_calls.read(known["endpoint"], resource_id)
        except ProviderFailed:
            return
        if seen is None:
            self._report_absence(resource_id)
        elif (status := _status(seen)) != known["status"]:
            self._report(resource_id, status, seen)

    def _report_absence(self, resource_id: str) -> None:
        with self.memory.changes() as memory:
            known = memory.resources.get(resource_id)
            if known is None or self._is_being_handled(resource_id):
                return
            del memory.resources[resource_id]
            if known["is_deleting"]:
                data = {"resource_id": resource_id, "agent_name": self.name, "epoch": known["epoch"]}
                event = make_event(
                    self.name, "dcm.agent.deletion-acknowledged", {**data, "status": "DELETED"}
                )
            else:
                event = self._status_event(resource_id, known, {"status": "DELETED"})
            memory.outgoing.append(event)
        log.info("%s is gone", resource_id)
        self.unsent.set()

    def _report(self, resource_id: str, status: str, seen: dict[str, Any]) -> None:
        with self.memory.changes() as memory:
            known = memory.resources.get(resource_id)
            # The answer to the creation comes first.
            if known is None or known["is_deleting"] or self._is_being_handled(resource_id):
                return
            known["status"] = status
            memory.outgoing.append(self._status_event(resource_id, known, seen))
        self.unsent.set()

    def _is_being_handled(self, resource_id: str) -> bool:
        requests = list(self.memory.accepted.values())
        return any(one["event"]["data"].get("resource_id") == resource_id for one in requests)

    def _status_event(self, resource_id: str, known: dict[str, Any], seen: dict[str, Any]) -> dict[str, Any]:
        data = {
            "id": resource_id,
            "agent_name": self.name,
            "epoch": known["epoch"],
            "status": seen["status"],
            "message": seen.get("message", ""),
            "output_spec": seen.get("output"),
        }
        return make_event(self.name, f"dcm.status.{known['service_type']}", data)


def make_event(agent: str, kind: str, data: dict[str, Any], traceparent: str = "") -> dict[str, Any]:
    """Return a CloudEvent. It keeps its id however often it is sent. traceparent: that of the request."""
    return {
        **({"traceparent": traceparent} if traceparent else {}),
        "specversion": "1.0",
        "id": str(uuid.uuid4()),
        "type": kind,
        "source": f"dcm/agents/{agent}",
        "time": datetime.now(UTC).isoformat(),
        "datacontenttype": "application/json",
        "data": data,
    }


def _status(seen: dict[str, Any]) -> str:
    return f"{seen['status']} {seen.get('message', '')} {seen.get('output', '')}"
