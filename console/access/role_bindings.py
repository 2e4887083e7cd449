"""Role bindings: list, grant and remove roles of principals and teams at scopes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from console.confirmations import Change, confirm_change
from console.cpctl_commands import cpctl, curl
from console.filter_choices import domains, projects, select_options
from console.forms import parse_form, parse_time, read_form
from console.pages import actor_of, load_page, page
from controlplane.access import role_bindings as bindings
from controlplane.access.models import CustomRole, Principal, PrincipalKind, RoleBinding
from controlplane.access.permissions import may_somewhere
from controlplane.access.roles.grant_role import grant_role
from controlplane.access.roles.visible_bindings import get_binding_to_change, visible_bindings
from controlplane.access.teams.visible_teams import visible_teams
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.roles.binding_views import role_order
from controlplane.endpoints.access.roles.schemas import RoleBindingWrite
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.identity.grants import missing_rights
from controlplane.identity.roles import Action, Role
from controlplane.scopes import SEGMENTS

_MAX_PRINCIPALS = 1000
_NAMES = ("holder", "role", "owned_by", "expires_at", *SEGMENTS)
_TEAM = "team:"


@page
def role_bindings(request: HttpRequest, caller: Caller) -> HttpResponse:
    if not may_somewhere(caller, Action.ACCESS_READ, delegated=True):
        caller.require(Action.ACCESS_READ)
    problem, status = None, 200
    if request.method == "POST":
        try:
            return _grant(request, caller)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
    holder = {name: request.GET.get(name, "").strip() for name in ("principal", "team")}
    context = {
        "problem": problem,
        **holder,
        "results": load_page(request, caller, _rows(caller, holder), order=("-id",)),
        "may_write": may_somewhere(caller, Action.ACCESS_WRITE, delegated=True),
        "curl": curl(request, "GET", "role-bindings"),
        "cpctl": cpctl("roles", "list"),
        **_form_context(request, caller),
    }
    return render(request, "console/access/role_bindings.html", context, status=status)


def _rows(caller: Caller, holder: dict[str, str]) -> QuerySet[RoleBinding]:
    rows = visible_bindings(caller).annotate(now=Now())
    if not all(value.isprintable() for value in holder.values()):
        return rows.none()
    if holder["principal"]:
        rows = rows.filter(principal__name=holder["principal"])
    return rows.filter(team__slug=holder["team"]) if holder["team"] else rows


def _form_context(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    return {
        "form": {name: request.POST.get(name, "") for name in _NAMES},
        "holders": select_options(_holders(caller), request.POST.get("holder", "")),
        "roles": [*Role, *CustomRole.objects.order_by("name").values_list("name", flat=True)],
        "teams": _teams(caller),
        "projects": projects(caller),
        "domains": domains(),
    }


def _teams(caller: Caller) -> list[str]:
    return list(visible_teams(caller).order_by("slug").values_list("slug", flat=True)[:_MAX_PRINCIPALS])


def _holders(caller: Caller) -> list[str]:
    """Return teams and principals. Delegated administrators type a name: they may not list principals."""
    if not caller.verdict(Action.ACCESS_READ).allowed:
        return []
    rows = Principal.objects.exclude(kind=PrincipalKind.AGENT).order_by("name")
    names = rows.values_list("name", flat=True)[:_MAX_PRINCIPALS]
    return [*names, *(f"{_TEAM}{slug}" for slug in _teams(caller))]


@page
def remove(request: HttpRequest, caller: Caller, binding_id: UUID) -> HttpResponse:
    binding = get_binding_to_change(caller, binding_id)
    name = binding.holder
    change = Change(
        f"Remove the role {binding.role} from {name}?",
        (f"Applies at {binding.scope} and all scopes below.", *_describe_loss(binding)),
        "Remove role",
        _address(name),
        f"Removed the role {binding.role} at {binding.scope} from {name}.",
        (),
        {"curl": curl(request, "DELETE", f"role-bindings/{binding.id}")},
        is_destructive=True,
    )
    return confirm_change(
        request, change, lambda form: bindings.unbind_role(binding.id, actor=actor_of(caller))
    )


def _describe_loss(binding: RoleBinding) -> tuple[str, ...]:
    """Describe the actions that only this binding allows."""
    holder = binding.principal or binding.team
    others = RoleBinding.objects.none() if holder is None else holder.role_bindings.exclude(id=binding.id)
    lost = missing_rights([binding.grant], [other.grant for other in others])
    if not lost:
        return ("No permission is lost: another role allows the same actions.",)
    return (f"Permissions lost immediately: {', '.join(lost)}.",)


def _grant(request: HttpRequest, caller: Caller) -> HttpResponse:
    form = read_form(request)
    scope = {name: form[name].strip() for name in SEGMENTS if form.get(name, "").strip()}
    ends_at = parse_time(form.get("expires_at", ""), "expires_at")
    body = {
        **_holder(form.get("holder", "").strip()),
        "role": form.get("role", ""),
        "scope": scope,
        "owned_by": form.get("owned_by") or None,
        "expires_at": ends_at.isoformat() if ends_at else None,
    }
    order = role_order(parse_form(RoleBindingWrite, body))
    binding = grant_role(caller, order, actor=actor_of(caller))
    messages.success(request, f"Granted the role {binding.grant} to {binding.holder}.")
    return redirect(_address(binding.holder))


def _holder(name: str) -> dict[str, str]:
    return {"team": name.removeprefix(_TEAM)} if name.startswith(_TEAM) else {"principal": name}


def _address(holder: str) -> str:
    return f"{reverse('role-bindings')}?{urlencode(_holder(holder))}"
