"""Refused actions in the audit log: at most one record per minute, principal and action."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from django.db import DatabaseError
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from controlplane.access import attempt_counters, login_event_types
from controlplane.access.occurrences import record_occurrence
from controlplane.errors import PermissionDenied, StepUpRequired
from controlplane.identity.callers import Caller
from controlplane.observability.request_ids import current_request_id

_SECONDS = 60


def note_denial(request: HttpRequest, caller: Caller, error: PermissionDenied) -> None:
    """Remember that a caller lacked a permission, until the transaction of the request has ended."""
    request.denial = (caller, error)  # type: ignore[attr-defined]  # read by DenialMiddleware


class DenialMiddleware:
    """Records the refused action of a request after its response, outside of its transaction."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if denial := getattr(request, "denial", None):
            _record(*denial)
        return response


def _record(caller: Caller, error: PermissionDenied) -> None:
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
