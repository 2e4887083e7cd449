"""Pages of resource types: list, details, and the editor of custom types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from console.cpctl_commands import cpctl, curl
from console.overrides.catalogue_copies import built_in_copies, type_copies
from console.overrides.editor import show_plan
from console.overrides.form_input import number_from, precondition_for
from console.pages import actor_of, page
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import (
    ConfirmationRequired,
    ControlplaneError,
    FieldError,
    InvalidRequest,
    PermissionDenied,
)
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.editing.commit import CommitOptions
from overrides.editing.plans import Plan
from overrides.editing.resource_types import delete_type, get_definition, put_type
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import Override
from overrides.resource_types import ResourceType
from overrides.resource_types.shape import check_shape

_TEMPLATE = """name: training_limits
title: Training limits
meaning: Resources that one training may use.
strategy: merge
schema:
  type: object
  properties:
    max_hours: {type: integer, minimum: 1, description: Maximum duration in hours.}
    spot: {type: boolean, description: Whether to use spot machines.}
  additionalProperties: false
example: {max_hours: 12}
"""


@page
def types(request: HttpRequest, caller: Caller) -> HttpResponse:
    within = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    groups = within.order_by("resource_type").values("resource_type").annotate(count=Count("pk"))
    counts = {row["resource_type"]: row["count"] for row in groups}
    rows = [
        (resource_type, counts.get(resource_type.name, 0))
        for resource_type in current_catalogue().types.values()
    ]
    context = {
        "rows": rows,
        "may_write": caller.verdict(Action.TYPE_WRITE).allowed,
        "copies": {
            "curl": curl(request, "GET", "resource-types"),
            "cpctl": cpctl("get", "resource-types"),
        },
    }
    return render(request, "console/resource_types/list.html", context)


@page
def resource_type_page(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    definition = current_catalogue().get(resource_type)
    set_at = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ)).filter(
        resource_type=definition.name
    )
    context = {
        "type": definition,
        "count": set_at.count(),
        "first": set_at.order_by("project", "domain", "workflow", "launch_plan")[:20],
        "schema": _pretty(definition.schema),
        "example": strict_yaml.dump(dict(definition.example)) if definition.example else "",
        "defaults": strict_yaml.dump(dict(definition.defaults)) if definition.defaults else "",
        "may_write": not definition.is_built_in and caller.verdict(Action.TYPE_WRITE).allowed,
        "copies": _copies(request, definition),
    }
    return render(request, "console/resource_types/one.html", context)


def _copies(request: HttpRequest, resource_type: ResourceType) -> dict[str, str]:
    if resource_type.is_built_in:
        return built_in_copies(request, resource_type.name)
    return type_copies(request, get_definition(resource_type.name).definition)


@page
def edit(request: HttpRequest, caller: Caller, resource_type: str = "") -> HttpResponse:
    """Validate a definition against the meta-schema and all stored overrides, then save it."""
    caller.require(Action.TYPE_WRITE)
    if request.method == "POST":
        return _handle_post(request, caller, resource_type)
    if not resource_type:
        return _show(request, "", _TEMPLATE, 0)
    current = get_definition(resource_type)
    return _show(request, resource_type, strict_yaml.dump(current.definition), current.version)


def _handle_post(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    text, step = request.POST.get("text", ""), request.POST.get("do", "check")
    version = number_from(request.POST.get("version", "0"), "/version")
    is_save = step in ("save", "delete")
    try:
        with transaction.atomic():
            changed, plan = _apply(request, caller, resource_type, delete=step == "delete", is_save=is_save)
            if not is_save:
                transaction.set_rollback(True)
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        status = STATUS_BY_ERROR[type(error)]
        extra = {"confirm": error.members["confirm"]} if isinstance(error, ConfirmationRequired) else {}
        return _show(request, resource_type, text, version, {"problem": error, **extra}, status=status)
    if not is_save:
        confirm = plan.confirmation.confirm if plan.confirmation else ""
        copies = type_copies(request, _definition(text, resource_type), version)
        context = {"checked": changed, "plan": show_plan(plan, caller), "confirm": confirm, "copies": copies}
        return _show(request, resource_type, text, version, context)
    message = (
        f"Saved as version {changed.version}." if changed else f"Removed the resource type {resource_type}."
    )
    messages.success(request, message, extra_tags=_draft(resource_type))
    return redirect(reverse("resource-type", args=[changed.name]) if changed else reverse("resource-types"))


def _apply(
    request: HttpRequest, caller: Caller, resource_type: str, *, delete: bool, is_save: bool
) -> tuple[ResourceType | None, Plan]:
    """Return the type after the change (None if deleted) and the plan."""
    actor = actor_of(caller, request.POST.get("reason", "").strip()[:500])
    precondition = precondition_for(number_from(request.POST.get("version", "0"), "/version"))
    confirm = request.POST.get("confirm", "").strip() if is_save else ""
    options = CommitOptions(confirm=confirm, wants_plan=True, asks=is_save)
    if delete:
        return None, delete_type(resource_type, actor=actor, precondition=precondition, options=options)
    definition = _definition(request.POST.get("text", ""), resource_type)
    stored = put_type(definition, actor=actor, precondition=precondition, options=options)
    return stored.resource_type, stored.plan


def _definition(text: str, resource_type: str) -> Mapping[str, Any]:
    definition = check_shape(strict_yaml.load(text))
    if resource_type and definition["name"] != resource_type:
        message = f"The name of {resource_type} cannot be changed. Define a new type instead."
        raise InvalidRequest(message, errors=[FieldError("/name", "other_name", message)])
    return definition


def _show(
    request: HttpRequest,
    resource_type: str,
    text: str,
    version: int,
    extra: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "name": resource_type,
        "text": text,
        "version": version,
        "draft": _draft(resource_type),
        "is_post": request.method == "POST",
        **(extra or {}),
    }
    return render(request, "console/resource_types/edit.html", context, status=status)


def _draft(resource_type: str) -> str:
    return f"resource-type:{resource_type}"


def _pretty(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False)
