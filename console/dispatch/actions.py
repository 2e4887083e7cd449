"""Confirmation pages for actions on a resource: cancel, try again, delete, force the deletion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.dispatch.lookup import get_resource
from console.pages import actor_of, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.dispatch.models import ResourceRow
from registry.dispatch.resource_events import scope_of
from registry.dispatch.resources import requests

_REASON = Field("reason", "Reason", hint="Shown on the resource and in the audit log.")
_FORCE = Field("force", "I know that the resource may still exist at its provider", "checkbox", required=True)


@page
def cancel(request: HttpRequest, caller: Caller, resource_id: str) -> HttpResponse:
    row = _resource(caller, resource_id, Action.RESOURCE_WRITE)
    change = Change(
        f"Cancel the request of {row.id}?",
        (
            _agent_text(row, "is requested to cancel it, and to delete what exists already."),
            "The record stays, and the request can be tried again.",
        ),
        "Cancel request",
        _url(row),
        f"Cancelling {row.id}.",
        (_REASON,),
        _copies(request, row, "cancel"),
        is_destructive=True,
    )
    return confirm_change(request, change, _act(requests.cancel_resource, row, caller))


@page
def retry(request: HttpRequest, caller: Caller, resource_id: str) -> HttpResponse:
    row = _resource(caller, resource_id, Action.RESOURCE_WRITE)
    deletes = row.state == "deletion_failed"
    change = Change(
        f"Try {row.id} again?",
        (
            "The deletion is sent to its agents again."
            if deletes
            else "An agent is chosen now. One that had it before is chosen only if no other can take it.",
            f"State: {row.state}. Reason: {row.reason or 'none'}",
        ),
        "Try again",
        _url(row),
        f"Trying {row.id} again.",
        (_REASON,),
        _copies(request, row, "retry"),
    )
    return confirm_change(request, change, _act(requests.retry_resource, row, caller))


@page
def delete(request: HttpRequest, caller: Caller, resource_id: str) -> HttpResponse:
    row = _resource(caller, resource_id, Action.RESOURCE_WRITE)
    change = Change(
        f"Delete {row.id}?",
        (
            _agent_text(row, "is requested to delete it. The data of the resource may be lost."),
            "This cannot be undone.",
        ),
        "Delete resource",
        _url(row),
        f"Deleting {row.id}.",
        (_REASON,),
        {
            "curl": curl(request, "DELETE", f"resources/{row.id}"),
            "cpctl": cpctl("resources", "delete", row.id),
        },
        is_destructive=True,
    )
    return confirm_change(request, change, _act(requests.delete_resource, row, caller, force=False))


@page
def force_deletion(request: HttpRequest, caller: Caller, resource_id: str) -> HttpResponse:
    row = _resource(caller, resource_id, Action.DISPATCH_OPERATE)
    change = Change(
        f"Force the deletion of {row.id}?",
        (
            "The record is marked as deleted at once, whatever its agents answer. Nothing is sent to them.",
            _agent_text(row, "may still run it. Delete it at its provider."),
            "This cannot be undone.",
        ),
        "Force deletion",
        _url(row),
        f"Marked {row.id} as deleted.",
        (Field("reason", "Reason", hint=_REASON.hint, required=True), _FORCE),
        {
            "curl": curl(request, "DELETE", f"resources/{row.id}?force=true"),
            "cpctl": cpctl("resources", "delete", row.id, "--force"),
        },
        is_destructive=True,
    )
    return confirm_change(request, change, _act(requests.delete_resource, row, caller, force=True))


def _resource(caller: Caller, resource_id: str, action: Action) -> Any:
    row = get_resource(caller, resource_id)
    caller.require(action, scope_of(row), owner=row.team_id)
    return row


def _act(
    operation: Callable[..., object], row: ResourceRow, caller: Caller, **options: Any
) -> Callable[[Mapping[str, str]], object]:
    """Return the change, which locks the resource and checks the permission again."""
    return lambda form: operation(
        row.id, caller=caller, actor=actor_of(caller, form.get("reason", "")), **options
    )


def _agent_text(row: ResourceRow, text: str) -> str:
    return f"The agent {row.agent_name} {text}" if row.agent_name else "It has no agent so far."


def _url(row: ResourceRow) -> str:
    return reverse("resource", args=[row.id])


def _copies(request: HttpRequest, row: ResourceRow, verb: str) -> dict[str, str]:
    return {
        "curl": curl(request, "POST", f"resources/{row.id}:{verb}"),
        "cpctl": cpctl("resources", verb, row.id),
    }
