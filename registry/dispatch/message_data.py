"""What a message to an agent contains."""

from __future__ import annotations

from typing import Any

from registry.dispatch.lifecycle.records import Command
from registry.dispatch.lifecycle.service_types import spec_to_send
from registry.dispatch.models import ResourceRow
from registry.dispatch.policies import service_profiles


def message_data(row: ResourceRow, epoch: int, command: Command) -> dict[str, Any]:
    """Return the data of a message about an attempt. Raises ValueError if the id has no place in the spec."""
    data: dict[str, Any] = {"resource_id": row.id, "service_type": row.service_type, "epoch": epoch}
    if command is Command.CREATE:
        spec = spec_to_send(row.service_type, row.spec, row.id, service_profiles())
        data |= {"spec": spec, "request_id": row.request_id}
    return data
