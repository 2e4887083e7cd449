"""People and services: their teams, roles and last activity; activate and deactivate."""

from __future__ import annotations

from django.db.models import Max, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Greatest, Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from console.confirmations import Change, confirm_change
from console.cpctl_commands import cpctl, curl
from console.listing import Column, read_listing
from console.pages import actor_of, load_page, page
from controlplane.access import principals
from controlplane.access.models import Principal, PrincipalKind, RoleBinding, Session, Token
from controlplane.access.team_models import Membership
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

_KINDS = {
    "": (PrincipalKind.PERSON, PrincipalKind.SERVICE),
    **{kind.value: (kind,) for kind in PrincipalKind},
}

_COLUMNS = (
    Column("name", "Name", order=("name",), is_optional=False),
    Column("display_name", "Display name", "medium", is_extra=True),
    Column("kind", "Kind", "tiny"),
    Column("state", "State", "narrow"),
    Column("teams", "Teams"),
    Column("roles", "Own roles"),
    Column("seen", "Last activity", "narrow"),
    Column("action", "Action", "narrow", is_optional=False),
)


@page
def people(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require(Action.ACCESS_READ)
    query, kind = request.GET.get("q", "").strip(), request.GET.get("kind", "")
    rows = _rows().filter(kind__in=_KINDS.get(kind, _KINDS[""]))
    if query:
        rows = rows.filter(name__icontains=query) if query.isprintable() else rows.none()
    listing = read_listing(request, "people", "People and services", _COLUMNS, sort="name")
    context = {
        "listing": listing,
        "query": query,
        "kind": kind,
        "kinds": [value for value in _KINDS if value],
        "results": load_page(request, caller, rows, order=listing.order),
        "may_write": caller.verdict(Action.ACCESS_WRITE).allowed,
        "curl": curl(request, "GET", "principals"),
        "cpctl": cpctl("principals", "list"),
    }
    return render(request, "console/access/people.html", context)


@page
def switch(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    """Ask whether to activate or deactivate a principal, and do it."""
    caller.require(Action.ACCESS_WRITE)
    principal = principals.get_principal(name)
    is_active = not principal.is_active
    verb, command = ("Activate", "enable") if is_active else ("Deactivate", "disable")
    change = Change(
        f"{verb} {principal.name}?",
        _effects(principal),
        f"{verb} {principal.kind}",
        reverse("people"),
        f"{verb}d {principal.name}.",
        (),
        {
            "curl": curl(request, "PATCH", f"principals/{principal.name}", {"is_active": is_active}),
            "cpctl": cpctl("principals", command, principal.name),
        },
        is_destructive=not is_active,
    )
    return confirm_change(
        request,
        change,
        lambda form: principals.set_active(principal.name, is_active=is_active, actor=actor_of(caller)),
    )


def _effects(principal: Principal) -> tuple[str, ...]:
    if not principal.is_active:
        return ("Its tokens work again, and it can log in.", "It has the roles that it had before.")
    return (
        "All its tokens and sessions stop working immediately.",
        "Its roles and memberships are kept, for when it is activated again.",
    )


def _rows() -> QuerySet[Principal]:
    bindings = RoleBinding.objects.select_related("custom_role", "owned_by").order_by("role")
    memberships = Membership.objects.select_related("team").order_by("team__slug", "via")
    return Principal.objects.annotate(
        now=Now(), seen_at=Greatest(_last_use(Token), _last_use(Session))
    ).prefetch_related(Prefetch("role_bindings", bindings), Prefetch("memberships", memberships))


def _last_use(model: type[Token] | type[Session]) -> Subquery:
    """Return the last use of a principal's tokens or sessions. Postgres' GREATEST ignores NULL."""
    rows = model.objects.filter(principal=OuterRef("pk")).order_by().values("principal")
    return Subquery(rows.annotate(last=Max("last_used_at")).values("last"))
