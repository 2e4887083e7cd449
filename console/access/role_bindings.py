"""Role bindings: list, grant and remove roles of principals at scopes."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from console.confirmations import Change, confirm_change
from console.cpctl_commands import curl
from console.filter_choices import domains, projects, select_options
from console.forms import parse_form, read_form
from console.pages import actor_of, load_page, page
from controlplane.access import principals
from controlplane.access import role_bindings as bindings
from controlplane.access.models import Principal, PrincipalKind, RoleBinding
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.roles.schemas import RoleBindingWrite
from controlplane.errors import ControlplaneError, PermissionDenied, UnknownRoleBinding
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action, Role, missing_rights
from controlplane.scopes import SEGMENTS, Scope

_MAX_PRINCIPALS = 1000
_NAMES = ("principal", "role", *SEGMENTS)


@page
def role_bindings(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_READ)
    problem, status = None, 200
    if request.method == "POST":
        try:
            return _grant(request, caller)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
    principal = request.GET.get("principal", "").strip()
    rows = RoleBinding.objects.select_related("principal").annotate(now=Now())
    if principal:
        rows = rows.filter(principal__name=principal) if principal.isprintable() else rows.none()
    principals_by_name = Principal.objects.exclude(kind=PrincipalKind.AGENT).order_by("name")
    context = {
        "problem": problem,
        "principal": principal,
        "form": {name: request.POST.get(name, "") for name in _NAMES},
        "principals": select_options(
            principals_by_name.values_list("name", flat=True)[:_MAX_PRINCIPALS],
            request.POST.get("principal", ""),
        ),
        "roles": list(Role),
        "projects": projects(caller),
        "domains": domains(),
        "results": load_page(request, caller, rows, order=("-id",)),
        "may_write": caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", "role-bindings"),
    }
    return render(request, "console/access/role_bindings.html", context, status=status)


@page
def remove(request: HttpRequest, caller: Caller, binding_id: UUID) -> HttpResponse:
    caller.require(Action.ACCESS_WRITE)
    binding = RoleBinding.objects.select_related("principal", "team").filter(id=binding_id).first()
    if binding is None:
        raise UnknownRoleBinding("This role binding does not exist. It may have been removed.")
    name = binding.holder
    change = Change(
        f"Remove the role {binding.role} from {name}?",
        (f"Applies at {binding.scope} and all scopes below.", *_describe_loss(binding)),
        "Remove role",
        f"{reverse('role-bindings')}?{urlencode({'principal': name})}",
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
    caller.require(Action.ACCESS_WRITE)
    form = read_form(request)
    scope = {name: form[name].strip() for name in SEGMENTS if form.get(name, "").strip()}
    body = {"principal": form.get("principal", ""), "role": form.get("role", ""), "scope": scope}
    values = parse_form(RoleBindingWrite, body)
    binding = bindings.bind_role(
        principals.get_principal(values["principal"]),
        Role(values["role"]),
        Scope(**values.get("scope", {})),
        actor=actor_of(caller),
    )
    messages.success(request, f"Granted the role {binding.role} at {binding.scope} to {values['principal']}.")
    return redirect(f"{reverse('role-bindings')}?{urlencode({'principal': values['principal']})}")
