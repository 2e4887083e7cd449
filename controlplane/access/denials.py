"""Refused actions in the audit log: at most one record per minute, principal and action."""

from __future__ import annotations

from contextlib import suppress

from django.db import DatabaseError

from controlplane.access import attempt_counters, login_event_types
from controlplane.access.occurrences import record_occurrence
from controlplane.errors import PermissionDenied, StepUpRequired
from controlplane.identity.callers import Caller
from controlplane.observability.request_ids import current_request_id

_SECONDS = 60


def record_denial(caller: Caller, error: PermissionDenied) -> None:
    """Record that a caller lacked a permission. Call it after the transaction of the request ended."""
    action = str(error.members.get("action", ""))
    if not action or caller.principal_id is None or isinstance(error, StepUpRequired):
        return
    (count,) = attempt_counters.add([f"denied:{caller.principal_id}:{action}"], _SECONDS)
    if count > 1:
        return
    # The response must not depend on the record.
    with suppress(DatabaseError):
        record_occurrence(
            login_event_types.ACCESS_DENIED,
            caller.name,
            actor=caller.actor(current_request_id()),
            data={"principal": caller.name, "action": action},
        )
