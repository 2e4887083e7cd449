"""The pages of guard rails: the list, one guard rail, and the editor with its preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from console import filter_choices
from console.cpctl_commands import cpctl, curl
from console.overrides.catalogue_copies import rail_copies
from console.overrides.editor import show_plan
from console.overrides.form_input import number_from, precondition_for
from console.overrides.guard_rail_form import body_of, describe_rule, form_of, read_form
from console.pages import actor_of, load_page, page
from console.records import history
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.database.clock import database_now
from controlplane.database.scoped import overlapping
from controlplane.errors import (
    ConfirmationRequired,
    ControlplaneError,
    NameTaken,
    PermissionDenied,
    StillInUse,
    UnknownGuardRail,
)
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import LEVEL_NAMES
from overrides.documents.guard_rails import rail_document, rail_from
from overrides.editing.commit import CommitOptions
from overrides.editing.guard_rails import delete_rail, put_rail
from overrides.editing.plans import Plan
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import GuardRailRow
from overrides.querysets import SpanQuerySet

_MAX_EVENTS = 20
_EXAMPLE = {
    "name": "cpu-cap",
    "resource_type": "task_resource",
    "pointer": "/limits/cpu",
    "rule": {"maximum": "16"},
    "reason": "The largest node has 16 cores.",
}


@page
def rails(request: HttpRequest, caller: Caller) -> HttpResponse:
    """List guard rails. `?resource_type=`: those of one type; `?deleted=yes`: those that can be restored."""
    caller.require_somewhere(Action.OVERRIDE_READ)
    resource_type = request.GET.get("resource_type", "").strip()
    is_deleted = request.GET.get("deleted") == "yes"
    rows = _readable(caller).deleted() if is_deleted else _visible(caller)
    if resource_type:
        rows = rows.filter(resource_type=resource_type) if resource_type.isprintable() else rows.none()
    results = load_page(request, caller, rows, order=("name",))
    context = {
        "results": results,
        "rails": [(row, describe_rule(row.rule)) for row in results.items],
        "resource_type": resource_type,
        "is_deleted": is_deleted,
        "types": filter_choices.select_options(current_catalogue().types, resource_type),
        "may_write": bool(caller.scopes_for(Action.RAIL_WRITE)),
        "first": curl(request, "PUT", "guard-rails/cpu-cap", _EXAMPLE),
        "copies": {
            "curl": curl(request, "GET", "guard-rails"),
            "cpctl": cpctl("get", "guard-rails"),
        },
    }
    return render(request, "console/overrides/guard_rails.html", context)


@page
def rail(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    caller.require_somewhere(Action.OVERRIDE_READ)
    row = _find(caller, name, of=_visible(caller) | _readable(caller).deleted())
    is_deleted = row.until_revision is not None
    form = {field: text for field, text in form_of(row).items() if text}
    context = {
        "rail": row,
        "rule": describe_rule(row.rule),
        "restored": f"{reverse('guard-rail-new')}?{urlencode(form)}" if is_deleted else "",
        "may_write": caller.verdict(Action.RAIL_WRITE, row.scope).allowed,
        "events": history.of("guard_rail", row.name, caller, limit=_MAX_EVENTS),
        "now": database_now(),
        "copies": rail_copies(request, rail_document(row)),
    }
    return render(request, "console/overrides/guard_rail.html", context)


@page
def edit(request: HttpRequest, caller: Caller, name: str = "") -> HttpResponse:
    """Preview a guard rail with the values that it changes, then save it."""
    caller.require_somewhere(Action.RAIL_WRITE)
    row = _find(caller, name) if name else None
    if row:
        caller.require(Action.RAIL_WRITE, row.scope)
    if request.method == "POST":
        return _handle_post(request, caller, name)
    form = form_of(row) if row else read_form(request.GET)
    return _show(request, caller, name, form, {"version": row.version if row else 0})


def _handle_post(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    form, step = read_form(request.POST), request.POST.get("do", "preview")
    form["name"] = name or form["name"]
    is_save = step in ("save", "delete")
    context: dict[str, Any] = {"version": request.POST.get("version", "0")}
    try:
        with transaction.atomic():
            plan = _apply(request, caller, form, delete=step == "delete", asks=is_save)
            if not is_save:
                transaction.set_rollback(True)
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        status = STATUS_BY_ERROR[type(error)]
        return _show(request, caller, name, form, {**context, **_refusal(error)}, status=status)
    if not is_save:
        context["copies"] = rail_copies(request, body_of(form), number_from(context["version"], "/version"))
        return _show(request, caller, name, form, {**context, **_preview(plan, caller)})
    messages.success(request, f"{'Removed' if step == 'delete' else 'Saved'} guard rail {form['name']}.")
    return redirect(
        reverse("guard-rails") if step == "delete" else reverse("guard-rail", args=[form["name"]])
    )


def _apply(
    request: HttpRequest, caller: Caller, form: Mapping[str, str], *, delete: bool, asks: bool
) -> Plan:
    actor = actor_of(caller, request.POST.get("change_message", "").strip()[:500])
    precondition = precondition_for(number_from(request.POST.get("version", "0"), "/version"))
    options = CommitOptions(
        confirm=request.POST.get("confirm", "").strip()[:64] if asks else "", wants_plan=True, asks=asks
    )
    if delete:
        caller.require(Action.RAIL_WRITE, _find(caller, form["name"]).scope)
        return delete_rail(form["name"], actor=actor, precondition=precondition, options=options)
    spec = rail_from(body_of(form))
    caller.require(Action.RAIL_WRITE, spec.scope)
    _require_own(caller, spec.name)
    return put_rail(
        spec,
        actor=actor,
        precondition=precondition,
        accept_existing=request.POST.get("accept_existing") == "on",
        options=options,
    ).plan


def _refusal(error: ControlplaneError) -> dict[str, Any]:
    confirm = error.members["confirm"] if isinstance(error, ConfirmationRequired) else ""
    return {"problem": error, "confirm": confirm, "is_broken": isinstance(error, StillInUse)}


def _preview(plan: Plan, caller: Caller) -> dict[str, Any]:
    return {
        "plan": show_plan(plan, caller),
        "kept_out": plan.kept_out,
        "confirm": plan.confirmation.confirm if plan.confirmation else "",
        "is_broken": bool(plan.kept_out),
    }


def _show(
    request: HttpRequest,
    caller: Caller,
    name: str,
    form: Mapping[str, str],
    extra: Mapping[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "name": name,
        "form": form,
        "types": filter_choices.select_options(current_catalogue().types, form["resource_type"]),
        "levels": [level for level, _ in LEVEL_NAMES],
        "projects": filter_choices.select_options(filter_choices.projects(caller), form["project"]),
        "domains": filter_choices.select_options(filter_choices.domains(), form["domain"]),
        "segments": form,
        "prefix": "",
        "is_post": request.method == "POST",
        **extra,
    }
    return render(request, "console/overrides/guard_rail_edit.html", context, status=status)


def _readable(caller: Caller) -> SpanQuerySet[GuardRailRow]:
    return GuardRailRow.objects.filter(overlapping(caller.scopes_for(Action.OVERRIDE_READ)))


def _visible(caller: Caller) -> SpanQuerySet[GuardRailRow]:
    return _readable(caller).present()


def _find(caller: Caller, name: str, *, of: SpanQuerySet[GuardRailRow] | None = None) -> GuardRailRow:
    """Return the guard rail with a name. of: by default, those in effect. Raises UnknownGuardRail."""
    rows = _visible(caller) if of is None else of
    row = rows.filter(name=name).first() if name.isprintable() else None
    if row is None:
        raise UnknownGuardRail(f"Guard rail {name[:80]!r} does not exist.")
    return row


def _require_own(caller: Caller, name: str) -> None:
    """Check that the caller may change the guard rail that has the name now. Raises NameTaken."""
    existing = GuardRailRow.objects.present().filter(name=name).first()
    if existing is None:
        return
    if not _visible(caller).filter(name=name).exists():
        raise NameTaken(f"The guard rail name {name[:80]!r} is in use. Choose another name.")
    caller.require(Action.RAIL_WRITE, existing.scope)
