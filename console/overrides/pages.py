"""The overrides explorer: effective values of a scope, comparison of two scopes, copying."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.cpctl_commands import cpctl, curl
from console.overrides import comparison, freezes, ladder, matrix_page, request_step, tree
from console.overrides.form_input import address_of, scope_fields, segments_of
from console.overrides.scheduled import pending_changes
from console.overrides.write_mode import may_set, readable_source
from console.pages import page
from console.templatetags.parts import scope_url
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.effective.effective import effective_attributes
from overrides.effective.results import EffectiveAttributes
from overrides.loading.catalogue_cache import current_catalogue
from overrides.resource_types import ResourceType

# Parameters of the page that change only its looks.
_LOOKS = ("only_set", "tree_filter")


@page
def effective(request: HttpRequest, caller: Caller) -> HttpResponse:
    readable = caller.scopes_for(Action.OVERRIDE_READ)
    if not readable:
        caller.require(Action.OVERRIDE_READ)
    segments = segments_of(request.GET)
    if not any(segments.values()) and not caller.verdict(Action.OVERRIDE_READ).allowed:
        # Without a scope, the page is about all of them. Begin where the caller can read.
        return redirect(scope_url("overrides", readable[0]))
    only_set = request.GET.get("only_set") == "1"
    result, status = _effective(request, caller, segments, only_set=only_set)
    extra = {"readable": readable, "only_set": only_set, "source": readable_source(caller)}
    context = {**scope_fields(caller, segments), **extra, **result}
    return render(request, "console/overrides/ladder.html", context, status=status)


@page
def scopes(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Show the part of the scope tree whose names contain the filter."""
    scope, only_set = Scope(**segments_of(request.GET)), request.GET.get("only_set") == "1"
    caller.require(Action.OVERRIDE_READ, scope)
    nodes = tree.scope_tree(caller, scope, only_set=only_set, text=_filter(request))
    return render(request, "console/overrides/scopes.html", {"tree": nodes, "tree_filter": _filter(request)})


@page
def compare(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Show the effective values that differ between two scopes."""
    segments, other_segments = segments_of(request.GET), segments_of(request.GET, "other_")
    context = {
        "first": scope_fields(caller, segments),
        "second": scope_fields(caller, other_segments, "other_"),
    }
    try:
        left, right = Scope(**segments), Scope(**other_segments)
        for scope in (left, right):
            caller.require(Action.OVERRIDE_READ, scope)
        groups = comparison.compare(effective_attributes(left), effective_attributes(right))
        result = {"left": left, "right": right, "groups": groups}
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        return render(request, "console/overrides/compare.html", {**context, "problem": error}, status=422)
    return render(request, "console/overrides/compare.html", {**context, **result})


@page
def copy(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    """Choose a target scope, and open its editor with the attributes of this one."""
    address = address_of(request, caller, resource_type, Action.OVERRIDE_READ)
    definition = current_catalogue().get(resource_type)
    target_segments = segments_of(request.GET, "to_")
    if "to_project" not in request.GET:
        form = scope_fields(caller, address.scope.segments, "to_")
        return render(
            request, "console/overrides/copy.html", {"type": definition, "scope": address.scope, **form}
        )
    source = {f"from_{name}": value for name, value in address.scope.segments.items() if value}
    target = scope_url("override-edit", Scope(**target_segments), resource_type)
    return redirect(f"{target}{'&' if '?' in target else '?'}{urlencode({'from': '1', **source})}")


def _effective(
    request: HttpRequest, caller: Caller, segments: dict[str, str], *, only_set: bool
) -> tuple[dict[str, Any], int]:
    """Return the context of the page below its form, and the HTTP status."""
    try:
        scope = Scope(**segments)
        caller.require(Action.OVERRIDE_READ, scope)
        effective = effective_attributes(scope)
    except PermissionDenied as error:
        # Show the form too: a caller with access to one project only must select it.
        return {"problem": error, "denied": True}, 403
    except ControlplaneError as error:
        return {"problem": error}, 422
    settable = _settable(caller, scope)
    pending, matrix = pending_changes(caller, scope), ladder.matrix(effective)
    context = {
        "scope": scope,
        "width": matrix.width,
        "rungs": [(rung, _rung_url(caller, rung)) for rung in matrix.rungs],
        "groups": matrix_page.page_groups(
            matrix, _address(request, scope), caller, editable=settable, pending=pending
        ),
        "unset_pending": [
            change
            for name in pending.keys() - {row.resource_type.name for row in effective.types}
            for change in pending[name]
        ],
        "unset": [
            definition
            for name, definition in settable.items()
            if name not in {row.resource_type.name for row in effective.types}
        ],
        "copy": _copies(request, effective),
        "tree": tree.scope_tree(caller, scope, only_set=only_set, text=_filter(request)),
        "tree_filter": _filter(request),
        "nothing_title": f"No overrides at {scope} or above",
        "command": _example_command(request, scope),
        **freezes.banner(caller, scope),
        **request_step.protection(caller, scope),
    }
    return context, 200


def _address(request: HttpRequest, scope: Scope) -> matrix_page.Address:
    looks = {name: text for name in _LOOKS if (text := request.GET.get(name, ""))}
    return matrix_page.Address(scope, looks, request.GET.get("why", ""), request.GET.get("without", ""))


def _rung_url(caller: Caller, rung: ladder.Rung) -> str:
    """Return the page of the level's scope; empty if the caller may not read it."""
    may_read = not rung.is_default and caller.verdict(Action.OVERRIDE_READ, rung.scope).allowed
    return scope_url("overrides", rung.scope) if may_read else ""


def _filter(request: HttpRequest) -> str:
    """Return the filter of the tree, which names no scope if it has unprintable characters."""
    text = request.GET.get("tree_filter", "").strip()[:100]
    return text if text.isprintable() else ""


def _copies(request: HttpRequest, effective: EffectiveAttributes) -> dict[str, str]:
    """Return the content of the page as commands and as YAML."""
    parameters = {name: value for name, value in effective.scope.segments.items() if value}
    words = [word for name, value in parameters.items() for word in (f"--{name.replace('_', '-')}", value)]
    values = {
        effective_type.resource_type.name: dict(effective_type.resolved.attributes)
        for effective_type in effective.types
    }
    return {
        "curl": curl(
            request, "GET", f"overrides/effective{'?' if parameters else ''}{urlencode(parameters)}"
        ),
        "cpctl": cpctl("explain", *words),
        "yaml": strict_yaml.dump(values) if values else "",
    }


def _settable(caller: Caller, scope: Scope) -> dict[str, ResourceType]:
    """Return the resource types that the caller can override at the scope."""
    return {
        resource_type.name: resource_type
        for resource_type in current_catalogue().types.values()
        if may_set(caller, scope, resource_type)
    }


def _example_command(request: HttpRequest, scope: Scope) -> str:
    query = urlencode({name: value for name, value in scope.segments.items() if value})
    address = f"{request.scheme}://{request.get_host()}/api/v1/overrides/task_resource"
    return (
        'curl -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n'
        f'  "{address}{"?" if query else ""}{query}" \\\n'
        """  -d '{"attributes": {"defaults": {"cpu": "1"}}}'"""
    )
