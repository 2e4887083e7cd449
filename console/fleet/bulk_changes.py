"""Bulk changes of agents: the list, the progress of one, and its end before time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.filter_choices import select_options
from console.listing import Column, read_listing
from console.pages import actor_of, load_page, page
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.api.agents.bulk_schemas import show_bulk_change
from registry.bulk_changes.changes import (
    cancel_bulk_change,
    find_bulk_change,
    is_active,
    undo_bulk_change,
    visible_changes,
)
from registry.bulk_changes.decisions import ItemState
from registry.bulk_changes.models import AgentBulkChangeItem

_COLUMNS = (
    Column("action", "Action", "narrow", is_optional=False),
    Column("state", "State", "narrow"),
    Column("agents", "Agents", "narrow", is_number=True),
    Column("failed", "Failed", "tiny", is_number=True),
    Column("reason", "Reason"),
    Column("author", "Author", "narrow"),
    Column("started", "Started", "narrow"),
)
_ITEM_COLUMNS = (
    Column("name", "Name", "medium", is_optional=False),
    Column("environment", "Environment", "medium"),
    Column("state", "State", "narrow"),
    Column("reason", "Reason"),
    Column("changed", "Changed", "narrow"),
)
_REASON = Field("reason", "Reason", hint="Kept in the audit log.")


@page
def bulk_changes(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_READ)
    results = load_page(request, caller, visible_changes(caller).annotate(now=Now()), order=("-id",))
    context = {
        "listing": read_listing(request, "bulk-changes", "Bulk changes", _COLUMNS),
        "results": results,
        "changes": results.items,
        "copies": {
            "curl": curl(request, "GET", "agent-bulk-changes"),
            "cpctl": cpctl("agents", "bulk", "list"),
        },
    }
    return render(request, "console/fleet/bulk_changes.html", context)


@page
def bulk_change(request: HttpRequest, caller: Caller, change: UUID) -> HttpResponse:
    caller.require_for_some_owner(Action.AGENT_READ)
    row = find_bulk_change(change, caller)
    state = request.GET.get("state", "").strip()
    items = AgentBulkChangeItem.objects.within(caller).filter(bulk_change_id=row.id).annotate(now=Now())
    if state:
        items = items.filter(state=state) if state in list(ItemState) else items.none()
    results = load_page(request, caller, items, order=("id",))
    document = show_bulk_change(row)
    may_write = bool(caller.owners_for(Action.AGENT_WRITE))
    context = {
        "change": row,
        "finished": row.total - document["counts"]["pending"],
        "is_active": is_active(row),
        "may_cancel": may_write and document["can_cancel"],
        "may_undo": may_write and document["can_undo"],
        "state": state,
        "states": select_options([each.value for each in ItemState], state),
        "listing": read_listing(request, "bulk-change", "Agents of the bulk change", _ITEM_COLUMNS),
        "results": results,
        "copies": {
            "curl": curl(request, "GET", f"agent-bulk-changes/{row.id}"),
            "cpctl": cpctl("agents", "bulk", "show", str(row.id)),
        },
    }
    return render(request, "console/fleet/bulk_change.html", context)


@page
def cancel(request: HttpRequest, caller: Caller, change: UUID) -> HttpResponse:
    return _confirm(
        request,
        caller,
        change,
        ("Cancel", "Agents that changed stay so. The remaining ones are left as they are.", "cancelled"),
        cancel_bulk_change,
    )


@page
def undo(request: HttpRequest, caller: Caller, change: UUID) -> HttpResponse:
    effect = "Agents get the drains that they had before, except where somebody changed the agent since."
    return _confirm(request, caller, change, ("Undo", effect, "being undone"), undo_bulk_change)


def _confirm(
    request: HttpRequest,
    caller: Caller,
    change_id: UUID,
    words: tuple[str, str, str],
    operation: Callable[..., Any],
) -> HttpResponse:
    """Ask before an operation. words: the verb, its effect, and what is then said of the change."""
    caller.require_for_some_owner(Action.AGENT_WRITE)
    row = find_bulk_change(change_id, caller)
    verb, effect, done = words
    change = Change(
        f"{verb} the bulk change of {counted(row.total, 'agent')}?",
        (effect, f"Started by {row.created_by}: {row.action}. {row.reason}".strip()),
        f"{verb} change",
        reverse("agent-bulk-change", args=[row.id]),
        f"The bulk change is {done}.",
        (_REASON,),
        {
            "curl": curl(request, "POST", f"agent-bulk-changes/{row.id}:{verb.lower()}"),
            "cpctl": cpctl("agents", "bulk", verb.lower(), str(row.id)),
        },
    )

    def act(form: Mapping[str, str]) -> None:
        operation(row.id, caller, actor=actor_of(caller, form.get("reason", "")))

    return confirm_change(request, change, act)
