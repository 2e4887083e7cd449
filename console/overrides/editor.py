"""The override editor: form and YAML side by side, preview, and save with conflict detection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.overrides import field_groups, forms, freezes, request_step, three_way_diff
from console.overrides.change_copies import change_copies
from console.overrides.form_input import (
    OverrideForm,
    address_of,
    read_override_form,
    segments_of,
    write_options,
)
from console.overrides.scheduled import save_until
from console.pages import actor_of, page
from console.templatetags.parts import scope_url
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.errors import (
    ControlplaneError,
    FieldError,
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
from overrides.approval_models import ChangeRequest
from overrides.editing.plans import ChangeKind, Plan
from overrides.editing.reach import agents_reached
from overrides.editing.writes import preview_override, write_override
from overrides.effective.effective import effective_attributes
from overrides.field_managers import leaves_by_manager
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
        return _handle_post(request, caller, address)
    current = load_current([address])[address]
    text = _text(_copied_attributes(request, caller, address) or current.attributes)
    form = OverrideForm(text, current.present_version or 0, "", False, "")
    return _show(request, caller, address, form, {"managers": leaves_by_manager(current.owners)})


@page
def fields(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    """Synchronise form and YAML after a change of either."""
    address = address_of(request, caller, resource_type, Action.OVERRIDE_WRITE)
    schema = current_catalogue().get(resource_type).schema
    text, pointer = request.POST.get("text", ""), request.POST.get("changed", "")
    try:
        attributes = parsed(text)
        if pointer:
            attributes = _with_changed(request, attributes, schema, pointer)
            text = _text(attributes)
    except ControlplaneError as error:
        return render(request, "console/overrides/step.html", {"problem": error})
    context = {**_form(address, attributes), "text": text, "typed": not pointer}
    return render(request, "console/overrides/step.html", context)


def _with_changed(
    request: HttpRequest, attributes: Attributes, schema: Mapping[str, Any], pointer: str
) -> dict[str, Any]:
    """Return the attributes with what the form has for the field."""
    if f"pairs:{pointer}" not in request.POST:
        return forms.with_field(attributes, schema, pointer, request.POST.get(f"f:{pointer}", ""))
    names, values = request.POST.getlist(f"k:{pointer}"), request.POST.getlist(f"v:{pointer}")
    rows = [(name.strip(), value) for name, value in zip(names, values, strict=False)]
    return forms.with_pairs(attributes, schema, pointer, rows)


def parsed(text: str) -> Attributes:
    """Parse the typed attributes. Raises MalformedBody with line and column."""
    value = strict_yaml.load(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise MalformedBody("Attributes must be an object of names and values.")
    return value


def _handle_post(request: HttpRequest, caller: Caller, address: Address) -> HttpResponse:
    form, step = read_override_form(request), request.POST.get("do", "preview")
    try:
        attributes = None if step.endswith("delete") else parsed(form.text)
        if step in request_step.STEPS:
            return _requested(
                request, address, request_step.request_change(caller, address, attributes, form)
            )
        is_save = step in ("save", "delete")
        if is_save and form.until:
            save_until(caller, address, attributes, form)
            return _saved_until(request, address, form)
        plan = _write(caller, address, attributes, form, saves=is_save)
    except PermissionDenied:
        raise
    except VersionMismatch:
        return _show_conflict(request, caller, address, form)
    except ControlplaneError as error:
        status = STATUS_BY_ERROR[type(error)]
        return _show(request, caller, address, form, {"problem": error}, status=status)
    if is_save:
        return _saved(request, address, plan)
    more = {"plan": show_plan(plan, caller), "deletes": attributes is None}
    return _show(request, caller, address, form, more)


def _write(
    caller: Caller, address: Address, attributes: Attributes | None, form: OverrideForm, *, saves: bool
) -> Plan:
    """Save the override, or preview the change."""
    options = write_options(form, caller, address.scope, saves=saves)
    actor = actor_of(caller, form.reason, ticket=form.ticket)
    return (write_override if saves else preview_override)(address, attributes, actor=actor, options=options)


def _saved(request: HttpRequest, address: Address, plan: Plan) -> HttpResponse:
    (change,) = plan.changes
    message = {
        ChangeKind.UNCHANGED: "No changes to save.",
        ChangeKind.DELETED: "Override removed. The scope inherits its values.",
    }.get(change.kind, f"Saved as version {change.version}.")
    messages.success(request, message, extra_tags=draft_key(address))
    return redirect(f"{scope_url('overrides', address.scope)}#{address.resource_type}")


def _requested(request: HttpRequest, address: Address, row: ChangeRequest) -> HttpResponse:
    messages.success(request, "Change requested.", extra_tags=draft_key(address))
    return redirect("change-request", row.id)


def _saved_until(request: HttpRequest, address: Address, form: OverrideForm) -> HttpResponse:
    message = f"Saved until {form.until.replace('T', ' ')} UTC."
    messages.success(request, message, extra_tags=draft_key(address))
    return redirect(f"{scope_url('overrides', address.scope)}#{address.resource_type}")


def _show_conflict(
    request: HttpRequest, caller: Caller, address: Address, form: OverrideForm
) -> HttpResponse:
    """Show the base, the saved version and the user's text, and continue from the saved version."""
    current = load_current([address])[address]
    rule = current_catalogue().get(address.resource_type).rule
    rows = three_way_diff.compare_three(
        _base_attributes(address, form), current.attributes, _parse_or_empty(form.text), rule
    )
    latest = get_version(address, current.version)
    next_form = OverrideForm(form.text, current.present_version or 0, form.reason, form.force, "")
    conflict = {
        "conflicts": rows,
        "latest": latest,
        "theirs": _text(current.attributes),
        "base_version": form.version,
    }
    return _show(request, caller, address, next_form, conflict, status=412)


def _base_attributes(address: Address, form: OverrideForm) -> Attributes | None:
    try:
        return get_version(address, form.version).attributes if form.version else None
    except UnknownVersion:
        return None


def _show(
    request: HttpRequest,
    caller: Caller,
    address: Address,
    form: OverrideForm,
    extra: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        **_form(address, _parse_or_empty(form.text), _errors_of(extra)),
        "form": form,
        "draft": draft_key(address),
        "may_force": caller.verdict(Action.OVERRIDE_FORCE, address.scope).allowed,
        "may_override_freeze": bool(caller.scopes_for(Action.FREEZE_OVERRIDE)),
        **freezes.banner(caller, address.scope),
        **request_step.protection(caller, address.scope),
        "confirm_above": settings.CONFIRM_ABOVE_SCOPES,
        "copy": change_copies(request, address, form.text, _parse_or_empty(form.text), form.version),
        "is_post": request.method == "POST",
        **(extra or {}),
    }
    return render(request, "console/overrides/edit.html", context, status=status)


def _errors_of(extra: Mapping[str, Any] | None) -> Sequence[FieldError]:
    problem = (extra or {}).get("problem")
    return problem.errors if isinstance(problem, ControlplaneError) else ()


def _form(address: Address, attributes: Attributes, errors: Sequence[FieldError] = ()) -> dict[str, Any]:
    catalogue = current_catalogue()
    resource_type = catalogue.get(address.resource_type)
    try:
        values = resource_type.read(attributes)
    except InvalidAttributes:
        # The save reports the error; what was typed must be shown in any case.
        values = attributes
    inherited = _inherited(address, catalogue)
    fields = field_groups.with_errors(forms.fields_of(resource_type.schema, values, inherited), errors)
    return {
        "type": resource_type,
        "scope": address.scope,
        "groups": field_groups.in_groups(fields, resource_type.hints),
        "inherited": _text(inherited),
    }


def _inherited(address: Address, catalogue: Catalogue) -> Attributes:
    """Return the values that apply without an override here: the ladder without its last rung."""
    types = effective_attributes(address.scope, resource_type=address.resource_type).types
    layers = [
        layer
        for effective_type in types
        for layer in effective_type.layers
        if layer.is_default or layer.scope != address.scope
    ]
    effective_type = catalogue.get(address.resource_type)
    return values_only(address.scope, layers, effective_type.rule, catalogue.rails_of(effective_type.name))


def _copied_attributes(request: HttpRequest, caller: Caller, address: Address) -> Attributes | None:
    """Return the attributes of the scope to copy from, if the URL names one."""
    if "from" not in request.GET:
        return None
    source = Scope(**segments_of(request.GET, "from_"))
    caller.require(Action.OVERRIDE_READ, source)
    source_address = Address(address.resource_type, source)
    current: CurrentOverride = load_current([source_address])[source_address]
    return current.attributes


def _parse_or_empty(text: str) -> Attributes:
    try:
        return parsed(text)
    except MalformedBody:
        return {}


def show_plan(plan: Plan, caller: Caller) -> dict[str, Any]:
    """Return a plan as template context, with the agents that the caller may know of."""
    return {
        "changes": [(change, three_way_diff.lines(change.differences)) for change in plan.changes],
        "effective": [(change, three_way_diff.lines(change.differences)) for change in plan.effective],
        "affected": plan.affected,
        "agents": agents_reached(caller, plan.scopes),
        "is_empty": not plan.digest,
        "frozen_by": plan.frozen_by,
    }


def draft_key(address: Address) -> str:
    return f"override:{address}"


def _text(attributes: Attributes | None) -> str:
    return strict_yaml.dump(dict(attributes)) if attributes else ""
