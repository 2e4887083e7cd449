"""The overrides explorer: what applies at a scope and why, two scopes compared, values copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.cpctl_commands import cpctl, curl
from console.overrides import ladder, three_way_diff, tree
from console.overrides.form_input import address_of, scope_form, segments_of
from console.overrides.write_mode import shown_source
from console.pages import page
from console.templatetags.parts import scope_url
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.editing.plans import differences
from overrides.effective.effective import effective_attributes
from overrides.effective.results import EffectiveAttributes
from overrides.loading.catalogue_cache import current_catalogue
from overrides.resource_types import ResourceType
from overrides.write_mode import reads_files


@dataclass(frozen=True, slots=True)
class Shown:
    """A ladder, and whether this caller may change its last rung."""

    ladder: ladder.Table
    may_edit: bool


@page
def effective(request: HttpRequest, caller: Caller) -> HttpResponse:
    readable = caller.scopes_for(Action.OVERRIDE_READ)
    if not readable:
        caller.require(Action.OVERRIDE_READ)
    asked = segments_of(request.GET)
    only_set = request.GET.get("only_set") == "1"
    answer, status = _effective(request, caller, asked, only_set=only_set)
    about = {"readable": readable, "only_set": only_set, "source": shown_source(caller)}
    context = {**scope_form(caller, asked), **about, **answer}
    return render(request, "console/overrides/ladder.html", context, status=status)


@page
def compare(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Every value that differs between two scopes."""
    asked, other = segments_of(request.GET), segments_of(request.GET, "other_")
    context = {"one": scope_form(caller, asked), "two": scope_form(caller, other, "other_")}
    try:
        left, right = Scope(**asked), Scope(**other)
        for scope in (left, right):
            caller.require(Action.OVERRIDE_READ, scope)
        found = {"left": left, "right": right, "tables": _differing(left, right)}
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        return render(request, "console/overrides/compare.html", {**context, "problem": error}, status=422)
    return render(request, "console/overrides/compare.html", {**context, **found})


@page
def copy(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    """Choose where to; the editor there begins with what is set here."""
    address = address_of(request, caller, resource_type, Action.OVERRIDE_READ)
    one = current_catalogue().get(resource_type)
    to = segments_of(request.GET, "to_")
    if "to_project" not in request.GET:
        form = scope_form(caller, address.scope.segments, "to_")
        return render(request, "console/overrides/copy.html", {"type": one, "scope": address.scope, **form})
    source = {f"from_{name}": value for name, value in address.scope.segments.items() if value}
    target = scope_url("override-edit", Scope(**to), resource_type)
    return redirect(f"{target}{'&' if '?' in target else '?'}{urlencode({'from': '1', **source})}")


def _effective(
    request: HttpRequest, caller: Caller, asked: dict[str, str], *, only_set: bool
) -> tuple[dict[str, Any], int]:
    """What the page shows below its form, and the status."""
    try:
        scope = Scope(**asked)
        caller.require(Action.OVERRIDE_READ, scope)
        found = effective_attributes(scope)
    except PermissionDenied as error:
        # With the form: who may read one project begins at "any", and is only one choice away.
        return {"problem": error, "denied": True}, 403
    except ControlplaneError as error:
        return {"problem": error}, 422
    settable = _settable(caller, scope)
    answer = {
        "scope": scope,
        "tables": [Shown(one, one.type.name in settable) for one in ladder.tables(found)],
        "unset": [
            one for name, one in settable.items() if name not in {it.resource_type.name for it in found.types}
        ],
        "copy": _copies(request, found),
        "tree": tree.scope_tree(caller, scope, only_set=only_set),
        "nothing_title": f"Nothing is set at {scope} or above it.",
        "command": _first_command(request, scope),
    }
    return answer, 200


def _copies(request: HttpRequest, found: EffectiveAttributes) -> dict[str, str]:
    """What the page shows, for a shell and for a file."""
    said = {name: value for name, value in found.scope.segments.items() if value}
    words = [word for name, value in said.items() for word in (f"--{name.replace('_', '-')}", value)]
    values = {one.resource_type.name: dict(one.resolved.attributes) for one in found.types}
    return {
        "curl": curl(request, "GET", f"overrides/effective{'?' if said else ''}{urlencode(said)}"),
        "cpctl": cpctl("explain", *words),
        "yaml": strict_yaml.dump(values) if values else "",
    }


def _settable(caller: Caller, scope: Scope) -> dict[str, ResourceType]:
    """The types that the caller may set at the scope."""
    if reads_files() or not caller.verdict(Action.OVERRIDE_WRITE, scope).allowed:
        return {}
    return {one.name: one for one in current_catalogue().types.values() if scope.level not in one.not_at}


def _first_command(request: HttpRequest, scope: Scope) -> str:
    query = urlencode({name: value for name, value in scope.segments.items() if value})
    address = f"{request.scheme}://{request.get_host()}/api/v1/overrides/task_resource"
    return (
        'curl -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n'
        f'  "{address}{"?" if query else ""}{query}" \\\n'
        """  -d '{"attributes": {"defaults": {"cpu": "1"}}}'"""
    )


def _differing(left: Scope, right: Scope) -> list[tuple[ResourceType, list[three_way_diff.Line]]]:
    here = {one.resource_type.name: one for one in effective_attributes(left).types}
    there = {one.resource_type.name: one for one in effective_attributes(right).types}
    tables = []
    for name, one in (there | here).items():
        before, after = here.get(name), there.get(name)
        found = differences(
            before.resolved.attributes if before else None,
            after.resolved.attributes if after else None,
            one.resource_type.rule,
        )
        if found:
            tables.append((one.resource_type, three_way_diff.lines(found)))
    return tables
