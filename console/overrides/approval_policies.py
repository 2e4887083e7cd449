"""The page of approval policies, and the pages that set, change and delete one."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console import forms
from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.overrides.form_input import scope_fields, segments_of
from console.pages import actor_of, load_page, page
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.api.approval_policies import ApprovalPolicyPatch, ApprovalPolicyWrite
from overrides.approval_models import ApprovalPolicy
from overrides.approvals.changes import change_policy, create_policy, delete_policy
from overrides.approvals.decisions import MOST_APPROVALS
from overrides.approvals.storage import find_policy, visible

_NUMBERS = tuple(str(number) for number in range(1, MOST_APPROVALS + 1))


@page
def policies(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_somewhere(Action.OVERRIDE_READ)
    rows = ApprovalPolicy.objects.filter(visible(caller))
    results = load_page(request, caller, rows, order=("-id",))
    context = {
        "results": results,
        "policies": [
            (row, caller.verdict(Action.APPROVAL_WRITE, row.scope).allowed) for row in results.items
        ],
        "may_set": bool(caller.scopes_for(Action.APPROVAL_WRITE)),
        **scope_fields(caller, segments_of(request.GET)),
        "curl": curl(request, "GET", "approval-policies"),
        "cpctl": cpctl("approval-policies", "list"),
    }
    return render(request, "console/overrides/approval_policies.html", context)


@page
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Require approvals at the scope in the URL."""
    scope = Scope(**segments_of(request.GET))
    caller.require(Action.APPROVAL_WRITE, scope)
    body = {"scope": {name: value for name, value in scope.segments.items() if value}, "approvals": 1}
    change = Change(
        f"Require approvals at {scope}?",
        (
            "Overrides at this scope and below change only by change requests that others approved.",
            "Changes above this scope are not held, although their values are inherited here.",
            "Callers with approval.bypass at this scope can do without, with a reason.",
        ),
        "Require approvals",
        reverse("approval-policies"),
        "Approvals are required.",
        _fields("1", ""),
        {"curl": curl(request, "POST", "approval-policies", body)},
    )

    def act(form: Mapping[str, str]) -> None:
        values = forms.parse_form(ApprovalPolicyWrite, _typed(form))
        create_policy(scope, **values, actor=actor_of(caller, values["reason"]))

    return confirm_change(request, change, act)


@page
def edit(request: HttpRequest, caller: Caller, policy: UUID) -> HttpResponse:
    row = find_policy(policy, caller)
    caller.require(Action.APPROVAL_WRITE, row.scope)
    change = Change(
        f"Change the approval policy of {row.scope}?",
        (
            "Pending change requests at this scope and below are open or approved by the new number.",
            "Approvals that they have stay.",
        ),
        "Change policy",
        reverse("approval-policies"),
        "Policy changed.",
        _fields(str(row.approvals), row.reason),
        {"cpctl": cpctl("approval-policies", "change", str(row.id), "--approvals", str(row.approvals))},
    )

    def act(form: Mapping[str, str]) -> None:
        values = forms.parse_form(ApprovalPolicyPatch, _typed(form))
        change_policy(row.id, values, actor=actor_of(caller, values["reason"]))

    return confirm_change(request, change, act)


@page
def delete(request: HttpRequest, caller: Caller, policy: UUID) -> HttpResponse:
    row = find_policy(policy, caller)
    caller.require(Action.APPROVAL_WRITE, row.scope)
    change = Change(
        f"Delete the approval policy of {row.scope}?",
        ("Overrides at this scope and below may change at once, unless another policy holds them.",),
        "Delete policy",
        reverse("approval-policies"),
        "Policy deleted.",
        (Field("reason", "Reason"),),
        {"cpctl": cpctl("approval-policies", "delete", str(row.id))},
        is_destructive=True,
    )

    def act(form: Mapping[str, str]) -> None:
        delete_policy(row.id, actor=actor_of(caller, form.get("reason", "")))

    return confirm_change(request, change, act)


def _fields(approvals: str, reason: str) -> tuple[Field, ...]:
    return (
        Field("approvals", "Approvals", value=approvals, required=True, choices=_NUMBERS),
        Field("reason", "Reason", value=reason),
    )


def _typed(form: Mapping[str, str]) -> dict[str, object]:
    return {
        "approvals": forms.parse_number(form.get("approvals", "")),
        "reason": form.get("reason", "").strip(),
    }
