"""Edit one override: a form and YAML side by side, a preview, and a save that loses nothing."""

from __future__ import annotations

import json
import shlex
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.overrides import forms, three_way_diff
from console.overrides.form_input import Wanted, address_of, segments_of, terms_of, wanted_from
from console.pages import actor_of, page
from console.templatetags.parts import scope_url
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import (
    ControlplaneError,
    InvalidAttributes,
    MalformedBody,
    PermissionDenied,
    UnknownVersion,
    VersionMismatch,
)
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.editing.plans import ChangeKind, Plan
from overrides.editing.writes import preview_override, write_override
from overrides.effective.effective import effective_attributes
from overrides.history.history import get_version
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.current import CurrentOverride, load_current
from overrides.projects import check_known
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes
from overrides.resolution.resolve import values_only
from overrides.resource_types.catalogue import Catalogue
from overrides.write_mode import check_writable


@page
def edit(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    address = address_of(request, caller, resource_type, Action.OVERRIDE_WRITE)
    check_writable(actor_of(caller))
    current_catalogue().get(resource_type).check_level(address.scope)
    check_known(address.scope)
    if request.method == "POST":
        return _changed(request, caller, address)
    standing = load_current([address])[address]
    text = _text(_copied(request, caller, address) or standing.attributes)
    return _show(request, caller, address, Wanted(text, standing.present_version or 0, "", False, ""))


@page
def fields(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    """Keep form and YAML in step: a field was filled in, or the YAML was typed."""
    address = address_of(request, caller, resource_type, Action.OVERRIDE_WRITE)
    schema = current_catalogue().get(resource_type).schema
    text, pointer = request.POST.get("text", ""), request.POST.get("changed", "")
    try:
        attributes = parsed(text)
        if pointer:
            said = request.POST.get(f"f:{pointer}", "")
            attributes = forms.with_field(attributes, schema, pointer, said)
            text = _text(attributes)
    except ControlplaneError as error:
        return render(request, "console/overrides/step.html", {"problem": error})
    context = {**_form(address, attributes), "text": text, "typed": not pointer}
    return render(request, "console/overrides/step.html", context)


def parsed(text: str) -> Attributes:
    """The attributes that were typed. Raises MalformedBody with line and column."""
    value = strict_yaml.load(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise MalformedBody("Attributes are an object: names with values.")
    return value


def _changed(request: HttpRequest, caller: Caller, address: Address) -> HttpResponse:
    wanted, step = wanted_from(request), request.POST.get("do", "preview")
    try:
        attributes = None if step in ("preview-delete", "delete") else parsed(wanted.text)
        saves = step in ("save", "delete")
        plan = _write(caller, address, attributes, wanted, saves=saves)
    except PermissionDenied:
        raise
    except VersionMismatch:
        return _conflict(request, caller, address, wanted)
    except ControlplaneError as error:
        status = STATUS_BY_ERROR[type(error)]
        return _show(request, caller, address, wanted, {"problem": error}, status=status)
    if saves:
        return _saved(request, address, plan)
    return _show(request, caller, address, wanted, {"plan": show_plan(plan), "deletes": attributes is None})


def _write(
    caller: Caller, address: Address, attributes: Attributes | None, wanted: Wanted, *, saves: bool
) -> Plan:
    """Save, or do everything but keep it."""
    options = terms_of(wanted, caller, address.scope, saves=saves)
    act = write_override if saves else preview_override
    return act(address, attributes, actor=actor_of(caller, wanted.reason), options=options)


def _saved(request: HttpRequest, address: Address, plan: Plan) -> HttpResponse:
    (change,) = plan.changes
    told = {
        ChangeKind.UNCHANGED: "Nothing differed, so nothing was saved.",
        ChangeKind.DELETED: "Removed. The scope inherits again.",
    }.get(change.kind, f"Saved as version {change.version}.")
    messages.success(request, told, extra_tags=draft_key(address))
    return redirect(f"{scope_url('overrides', address.scope)}#{address.resource_type}")


def _conflict(request: HttpRequest, caller: Caller, address: Address, wanted: Wanted) -> HttpResponse:
    """Somebody was quicker: show all three, and go on from what stands now with the text as it was typed."""
    standing = load_current([address])[address]
    rule = current_catalogue().get(address.resource_type).rule
    ways = three_way_diff.three_ways(
        _begun(address, wanted), standing.attributes, _or_nothing(wanted.text), rule
    )
    last = get_version(address, standing.version)
    now = Wanted(wanted.text, standing.present_version or 0, wanted.reason, wanted.force, "")
    found = {"ways": ways, "last": last, "theirs": _text(standing.attributes), "begun": wanted.version}
    return _show(request, caller, address, now, found, status=412)


def _begun(address: Address, wanted: Wanted) -> Attributes | None:
    try:
        return get_version(address, wanted.version).attributes if wanted.version else None
    except UnknownVersion:
        return None


def _show(
    request: HttpRequest,
    caller: Caller,
    address: Address,
    wanted: Wanted,
    found: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        **_form(address, _or_nothing(wanted.text)),
        "wanted": wanted,
        "draft": draft_key(address),
        "may_force": caller.verdict(Action.OVERRIDE_FORCE, address.scope).allowed,
        "confirm_above": settings.CONFIRM_ABOVE_SCOPES,
        "copy": _copies(request, address, wanted.text, wanted.version),
        "is_answer": request.method == "POST",
        **(found or {}),
    }
    return render(request, "console/overrides/edit.html", context, status=status)


def _form(address: Address, attributes: Attributes) -> dict[str, Any]:
    catalogue = current_catalogue()
    one = catalogue.get(address.resource_type)
    try:
        read = one.read(attributes)
    except InvalidAttributes:
        # The save will say what is wrong; the text must be shown whatever it says.
        read = {}
    inherited = _inherited(address, catalogue)
    return {
        "type": one,
        "scope": address.scope,
        "fields": forms.fields_of(one.schema, read, inherited),
        "inherited": _text(inherited),
    }


def _inherited(address: Address, catalogue: Catalogue) -> Attributes:
    """What would apply if nothing were set here: the ladder without its last rung."""
    found = effective_attributes(address.scope, resource_type=address.resource_type).types
    layers = [
        layer for one in found for layer in one.layers if layer.is_default or layer.scope != address.scope
    ]
    one = catalogue.get(address.resource_type)
    return values_only(address.scope, layers, one.rule, catalogue.rails_of(one.name))


def _copied(request: HttpRequest, caller: Caller, address: Address) -> Attributes | None:
    """What is set at the scope that is copied from, if the address names one."""
    if "from" not in request.GET:
        return None
    source = Scope(**segments_of(request.GET, "from_"))
    caller.require(Action.OVERRIDE_READ, source)
    there = Address(address.resource_type, source)
    standing: CurrentOverride = load_current([there])[there]
    return standing.attributes


def _copies(request: HttpRequest, address: Address, text: str, version: int) -> dict[str, str]:
    """The same change for a shell."""
    here = f"{request.scheme}://{request.get_host()}"
    url = scope_url("overrides", address.scope).removeprefix("/overrides")
    body = json.dumps({"attributes": _or_nothing(text)})
    matching = f'-H "If-Match: \\"v{version}\\"" ' if version else ""
    said = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in _named(address.scope))
    return {
        "curl": 'curl -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" '
        f'{matching}"{here}/api/v1/overrides/{address.resource_type}{url}" -d {shlex.quote(body)}',
        "cpctl": f"cpctl get overrides {said} -o overrides.yaml && cpctl apply -f overrides.yaml",
        "yaml": text,
    }


def _named(scope: Scope) -> list[tuple[str, str]]:
    return [(name, shlex.quote(value)) for name, value in scope.segments.items() if value]


def _or_nothing(text: str) -> Attributes:
    try:
        return parsed(text)
    except MalformedBody:
        return {}


def show_plan(plan: Plan) -> dict[str, Any]:
    """A plan as the templates show it."""
    return {
        "changes": [(one, three_way_diff.lines(one.differences)) for one in plan.changes],
        "effective": [(one, three_way_diff.lines(one.differences)) for one in plan.effective],
        "affected": plan.affected,
        "is_empty": not plan.digest,
    }


def draft_key(address: Address) -> str:
    return f"override:{address}"


def _text(attributes: Attributes | None) -> str:
    return strict_yaml.dump(dict(attributes)) if attributes else ""
