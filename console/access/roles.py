"""Roles: what each allows; create, change and delete roles of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from console.confirmations import Change, confirm_change
from console.cpctl_commands import cpctl, curl
from console.forms import parse_form, parse_number, read_form
from console.pages import actor_of, page
from controlplane.access.models import CustomRole
from controlplane.access.permissions import may_somewhere
from controlplane.access.role_bindings import find_role
from controlplane.access.roles import custom_roles
from controlplane.access.roles.custom_roles import check_may_define, get_custom_role
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.roles.schemas import RoleReplacement, RoleWrite, show_role
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.roles import FOR_EVERYONE, Action, Role
from controlplane.preconditions import Precondition

_CHECKED = "may:"


@page
def roles(request: HttpRequest, caller: Caller) -> HttpResponse:
    _require_read(caller)
    problem, status = None, 200
    if request.method == "POST":
        try:
            return _create(request, caller)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
    shown = [show_role(role) for role in [*Role, *CustomRole.objects.order_by("name")]]
    context = {
        "problem": problem,
        "roles": shown,
        "form": request.POST,
        "groups": _action_groups(caller, _checked(request.POST)),
        "may_write": caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", "roles"),
        "cpctl": cpctl("get", "roles", "-o", "wide"),
    }
    return render(request, "console/access/roles.html", context, status=status)


@page
def role(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    """Show one role, and change it if it is one's own."""
    _require_read(caller)
    problem, status = None, 200
    if request.method == "POST":
        try:
            return _change(request, caller, name)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
    row = find_role(name)
    shown = show_role(row)
    is_own = isinstance(row, CustomRole)
    checked = _checked(request.POST) if problem else set(shown["actions"])
    context = {
        "problem": problem,
        "role": shown,
        "version": row.version if isinstance(row, CustomRole) else 0,
        "groups": _action_groups(caller, checked),
        "may_write": is_own and caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", f"roles/{name}"),
        "cpctl": cpctl("get", "role", name),
    }
    return render(request, "console/access/role.html", context, status=status)


@page
def delete(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    row = get_custom_role(name)
    change = Change(
        f"Delete the role {row.name}?",
        (
            f"Role bindings that have it: {row.bindings.count()}.",
            "A role that somebody has cannot be deleted.",
        ),
        "Delete role",
        reverse("roles"),
        f"Deleted the role {row.name}.",
        (),
        {
            "curl": curl(request, "DELETE", f"roles/{row.name}", version=row.version),
            "cpctl": cpctl("roles", "delete", row.name),
        },
        is_destructive=True,
    )
    return confirm_change(request, change, lambda form: custom_roles.delete_role(row, actor=actor_of(caller)))


def _create(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    form = read_form(request)
    names = {name: form.get(name, "") for name in ("name", "title")}
    body = parse_form(RoleWrite, {**names, "actions": sorted(_checked(form))})
    actions = [Action(action) for action in body["actions"]]
    check_may_define(caller, actions)
    row = custom_roles.create_role(body["name"], title=body["title"], actions=actions, actor=actor_of(caller))
    messages.success(request, f"Created the role {row.name}. Grant it on the page Role bindings.")
    return redirect("roles")


def _change(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    row, form = get_custom_role(name), read_form(request)
    body = parse_form(RoleReplacement, {"title": form.get("title", ""), "actions": sorted(_checked(form))})
    actions = [Action(action) for action in body["actions"]]
    check_may_define(caller, actions)
    version = parse_number(form.get("version", ""))
    custom_roles.replace_role(
        row,
        title=body["title"],
        actions=actions,
        actor=actor_of(caller),
        precondition=Precondition(frozenset({version} if isinstance(version, int) else ())),
    )
    messages.success(request, f"Changed the role {row.name} for everybody who has it.")
    return redirect("roles")


def _checked(form: Mapping[str, Any]) -> set[str]:
    return {name.removeprefix(_CHECKED) for name in form if name.startswith(_CHECKED)}


def _action_groups(caller: Caller, checked: set[str]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the actions that roles give, by their first word. The caller may give those it has."""
    options = [
        {
            "name": action.value,
            "is_checked": action.value in checked,
            "may_give": caller.verdict(action).allowed,
        }
        for action in sorted(frozenset(Action) - FOR_EVERYONE)
    ]
    return [
        (kind.replace("_", " "), list(members))
        for kind, members in groupby(options, lambda option: str(option["name"]).partition(".")[0])
    ]


def _require_read(caller: Caller) -> None:
    if not may_somewhere(caller, Action.ACCESS_READ, delegated=True):
        caller.require(Action.ACCESS_READ)
