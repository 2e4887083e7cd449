"""Role bindings: who may do what, where; given and taken away."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from console.confirmations import Change, confirmed
from console.cpctl_commands import curl
from console.filter_choices import domains, offered, projects
from console.forms import filled, said_in
from console.pages import actor_of, page, page_of
from controlplane.access import principals
from controlplane.access.models import Principal, PrincipalKind, RoleBinding
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.schemas import RoleBindingWrite
from controlplane.errors import ControlplaneError, PermissionDenied, UnknownRoleBinding
from controlplane.identity.callers import Caller
from controlplane.identity.roles import ALLOWED, Action, Role
from controlplane.scopes import SEGMENTS, Scope

_MOST = 1000
_NAMES = ("principal", "role", *SEGMENTS)


@page
def role_bindings(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_READ)
    problem, status = None, 200
    if request.method == "POST":
        try:
            return _granted(request, caller)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
    who = request.GET.get("principal", "").strip()
    rows = RoleBinding.objects.select_related("principal").annotate(now=Now())
    if who:
        rows = rows.filter(principal__name=who) if who.isprintable() else rows.none()
    known = Principal.objects.exclude(kind=PrincipalKind.AGENT).order_by("name")
    context = {
        "problem": problem,
        "who": who,
        "said": {name: request.POST.get(name, "") for name in _NAMES},
        "principals": offered(
            known.values_list("name", flat=True)[:_MOST], request.POST.get("principal", "")
        ),
        "roles": list(Role),
        "projects": projects(caller),
        "domains": domains(),
        "found": page_of(request, caller, rows, order=("-id",)),
        "may_write": caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", "role-bindings"),
    }
    return render(request, "console/access/role_bindings.html", context, status=status)


@page
def take_away(request: HttpRequest, caller: Caller, binding_id: UUID) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    binding = RoleBinding.objects.select_related("principal").filter(id=binding_id).first()
    if binding is None:
        raise UnknownRoleBinding("There is no such role binding. It may have been taken away.")
    name = binding.principal.name
    change = Change(
        f"Take {binding.role} from {name}?",
        (f"It counts at {binding.scope} and everywhere below.", *_lost(binding)),
        "Take it away",
        f"{reverse('role-bindings')}?{urlencode({'principal': name})}",
        f"{name} is no {binding.role} at {binding.scope} any more.",
        (),
        {"curl": curl(request, "DELETE", f"role-bindings/{binding.id}")},
        is_grave=True,
    )
    return confirmed(request, change, lambda said: principals.unbind_role(binding.id, actor=actor_of(caller)))


def _lost(binding: RoleBinding) -> tuple[str, ...]:
    """What the principal may do there by this binding alone."""
    others = binding.principal.role_bindings.exclude(id=binding.id)
    kept = {action for one in others if one.scope.covers(binding.scope) for action in ALLOWED[Role(one.role)]}
    lost = sorted(action.value for action in ALLOWED[Role(binding.role)] - kept)
    if not lost:
        return ("Nothing is lost: another role allows the same there.",)
    return (f"From the next request on it may not do there: {', '.join(lost)}.",)


def _granted(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    said = said_in(request)
    scope = {name: said[name].strip() for name in SEGMENTS if said.get(name, "").strip()}
    body = {"principal": said.get("principal", ""), "role": said.get("role", ""), "scope": scope}
    wanted = filled(RoleBindingWrite, body)
    binding = principals.bind_role(
        principals.get_principal(wanted["principal"]),
        Role(wanted["role"]),
        Scope(**wanted.get("scope", {})),
        actor=actor_of(caller),
    )
    messages.success(request, f"{wanted['principal']} is {binding.role} at {binding.scope}.")
    return redirect(f"{reverse('role-bindings')}?{urlencode({'principal': wanted['principal']})}")
