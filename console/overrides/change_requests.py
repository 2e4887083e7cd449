"""The inbox of change requests, and the page of one: its plan, comments and steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console import forms
from console.cpctl_commands import cpctl, curl
from console.overrides import three_way_diff
from console.pages import actor_of, load_page, page
from controlplane.access.people import people_behind
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.database.clock import statement_now
from controlplane.errors import (
    ControlplaneError,
    FieldError,
    InvalidRequest,
    NotIndependent,
    PermissionDenied,
)
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api.change_request_schemas import ApprovalWrite, CommentWrite, RejectionWrite
from overrides.approval_models import ChangeRequest
from overrides.approvals.request_states import PENDING, RequestState
from overrides.change_requests.decisions import Reviewer
from overrides.change_requests.publishing import publish_request
from overrides.change_requests.requests import comment_on_request, refresh_request, withdraw_request
from overrides.change_requests.review import approve_request, reject_request
from overrides.change_requests.storage import (
    assigned_to,
    authored_by,
    find_request,
    required_for,
    visible,
)
from overrides.editing.commit import CommitOptions
from overrides.editing.plans import Difference
from overrides.loading.current import load_current
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import ABSENT

Form = Mapping[str, str]
Step = Callable[[ChangeRequest, Caller, Form], object]
# Views of the inbox: their titles, and what an empty one means.
VIEWS = {
    "assigned": ("Assigned to me", "No change waits for your approval."),
    "mine": ("Mine", "You have requested no changes."),
    "all": ("All", "Nobody has requested a change."),
}


@page
def inbox(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_somewhere(Action.OVERRIDE_READ)
    view = request.GET.get("view", "assigned")
    view = view if view in VIEWS else "assigned"
    rows = ChangeRequest.objects.filter(visible(caller)).filter(_filter(view, caller))
    if (state := request.GET.get("state", "")) in set(RequestState):
        rows = rows.filter(state=state)
    results = load_page(request, caller, rows, order=("-id",))
    context = {
        "results": results,
        "requests": [(row, row.approvals.count(), required_for(row)) for row in results.items],
        "view": view,
        "views": [(name, title) for name, (title, _) in VIEWS.items()],
        "nothing": VIEWS[view][1],
        "states": list(RequestState),
        "state": state,
        "curl": curl(request, "GET", "change-requests?assigned=me"),
        "cpctl": cpctl("change-requests", "list", "--assigned"),
    }
    return render(request, "console/overrides/change_requests.html", context)


@page
def change_request_page(request: HttpRequest, caller: Caller, change_request: UUID) -> HttpResponse:
    row = find_request(change_request, caller)
    if request.method != "POST":
        return _show(request, caller, row)
    step = request.POST.get("do", "")
    try:
        action, act, done = _STEPS.get(step) or _unknown_step()
        caller.require(action, row.scope)
        act(row, caller, forms.read_form(request))
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        row.refresh_from_db()
        return _show(request, caller, row, error, status=STATUS_BY_ERROR[type(error)])
    messages.success(request, done)
    return redirect("change-request", row.id)


def _filter(view: str, caller: Caller) -> Q:
    return {"assigned": assigned_to(caller), "mine": authored_by(caller)}.get(view, Q())


def _show(
    request: HttpRequest,
    caller: Caller,
    row: ChangeRequest,
    problem: ControlplaneError | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    approvals = list(row.approvals.order_by("created_at", "id"))
    is_pending = row.state in PENDING
    may_comment = caller.verdict(Action.OVERRIDE_WRITE, row.scope).allowed
    may_write = is_pending and may_comment
    context = {
        "row": row,
        "problem": problem,
        "form": request.POST,
        "lines": _lines(row.plan["differences"]),
        "effects": [
            (Scope(**effect["scope"]), _lines(effect["differences"])) for effect in row.plan["effective"]
        ],
        "approvals": approvals,
        "comments": row.comments.order_by("created_at", "id"),
        "required": required_for(row),
        "has_drifted": is_pending and _has_drifted(row),
        "is_pending": is_pending,
        "may_review": is_pending and caller.verdict(Action.OVERRIDE_APPROVE, row.scope).allowed,
        "is_own": str(caller.principal_id) in row.people,
        "has_approved": caller.name in [approval.reviewer for approval in approvals],
        "may_comment": may_comment,
        "may_write": may_write,
        "may_publish": may_write and row.state == RequestState.APPROVED,
        "curl": curl(request, "GET", f"change-requests/{row.id}"),
        "cpctl": cpctl("change-requests", "show", str(row.id)),
    }
    return render(request, "console/overrides/change_request.html", context, status=status)


def _has_drifted(row: ChangeRequest) -> bool:
    """Return whether the override changed; other effective values are compared when it is approved."""
    address = Address(row.resource_type, row.scope)
    return load_current([address])[address].version != row.planned_version


def _lines(differences: list[dict[str, Any]]) -> list[three_way_diff.Line]:
    return three_way_diff.lines(
        Difference(entry["leaf"], entry.get("before", ABSENT), entry.get("after", ABSENT))
        for entry in differences
    )


def _approve(row: ChangeRequest, caller: Caller, form: Form) -> None:
    values = _parsed(ApprovalWrite, form, "digest", "comment")
    if caller.principal_id is None:
        raise NotIndependent("Only people approve: log in to approve it.")
    reviewer = Reviewer(
        caller.principal_id, caller.name, caller.kind == "person", people_behind(caller.principal_id)
    )
    approve_request(
        row.id, values["digest"], reviewer=reviewer, actor=actor_of(caller), comment=values["comment"]
    )


def _reject(row: ChangeRequest, caller: Caller, form: Form) -> None:
    reject_request(
        row.id, actor=actor_of(caller), comment=_parsed(RejectionWrite, form, "comment")["comment"]
    )


def _comment(row: ChangeRequest, caller: Caller, form: Form) -> None:
    caller.require(Action.OVERRIDE_WRITE, row.scope)
    text = _parsed(CommentWrite, {"text": form.get("comment", "")}, "text")["text"]
    comment_on_request(row.id, text, actor=actor_of(caller))


def _refresh(row: ChangeRequest, caller: Caller, form: Form) -> None:
    refresh_request(row.id, actor=actor_of(caller))


def _withdraw(row: ChangeRequest, caller: Caller, form: Form) -> None:
    withdraw_request(row.id, actor=actor_of(caller), comment=form.get("comment", "").strip()[:500])


def _publish(row: ChangeRequest, caller: Caller, form: Form) -> None:
    at = forms.parse_time(form.get("at", ""), "at")
    if at is not None and at <= statement_now():
        message = "The time must be in the future. To publish now, leave it empty."
        raise InvalidRequest(message, errors=[FieldError("/at", "in_the_past", message)])
    publish_request(row.id, actor=actor_of(caller), options=CommitOptions(), at=at)


def _parsed(schema: type[Any], form: Form, *names: str) -> dict[str, Any]:
    return forms.parse_form(schema, {name: form.get(name, "").strip() for name in names})


def _unknown_step() -> tuple[Action, Step, str]:
    raise InvalidRequest("Choose one of the buttons of the page.")


_STEPS: dict[str, tuple[Action, Step, str]] = {
    "approve": (Action.OVERRIDE_APPROVE, _approve, "Change approved."),
    "reject": (Action.OVERRIDE_APPROVE, _reject, "Change rejected."),
    "comment": (Action.OVERRIDE_READ, _comment, "Comment added."),
    "refresh": (Action.OVERRIDE_WRITE, _refresh, "Plan refreshed."),
    "withdraw": (Action.OVERRIDE_WRITE, _withdraw, "Change request withdrawn."),
    "publish": (Action.OVERRIDE_WRITE, _publish, "Change published."),
}
