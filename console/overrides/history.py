"""History of one override: every version, any two compared, and the way back, previewed."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.overrides import three_way_diff
from console.overrides.editor import show_plan
from console.overrides.form_input import address_of
from console.pages import actor_of, page, page_of
from console.templatetags.parts import scope_url
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.editing.commit import CommitOptions
from overrides.editing.plans import Plan, differences
from overrides.editing.writes import WriteOptions
from overrides.history.history import get_version, versions_of
from overrides.history.rollback import roll_back_override
from overrides.loading.catalogue_cache import current_catalogue
from overrides.resolution.addresses import Address
from overrides.write_mode import reads_files


@page
def history(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    if request.method == "POST":
        return _roll_back(request, caller, resource_type)
    address = address_of(request, caller, resource_type, Action.OVERRIDE_READ)
    found = {}
    if "from" in request.GET and "to" in request.GET:
        earlier, later = _version(request.GET["from"]), _version(request.GET["to"])
        found = _compared(address, *sorted((earlier, later)))
    return _show(request, caller, address, found)


def _roll_back(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    address = address_of(request, caller, resource_type, Action.OVERRIDE_WRITE)
    version = _version(request.POST.get("to_version", ""))
    saves = request.POST.get("do") == "save"
    reason = request.POST.get("reason", "").strip()[:500] or f"Back to version {version}."
    with transaction.atomic():
        plan = _restored(caller, address, version, reason)
        if not saves:
            transaction.set_rollback(True)
    if saves:
        messages.success(request, f"What stood at version {version} stands again.")
        return redirect(scope_url("override-history", address.scope, resource_type))
    return _show(request, caller, address, {"plan": show_plan(plan), "to_version": version})


def _restored(caller: Caller, address: Address, version: int, reason: str) -> Plan:
    # The person has seen the number of scopes: the preview is the confirmation.
    options = WriteOptions(commit_options=CommitOptions(wants_plan=True, asks=False))
    return roll_back_override(address, to_version=version, actor=actor_of(caller, reason), options=options)


def _compared(address: Address, earlier: int, later: int) -> dict[str, Any]:
    before, after = get_version(address, earlier), get_version(address, later)
    rule = current_catalogue().rule_of(address.resource_type)
    found = differences(before.attributes, after.attributes, rule)
    return {"before": before, "after": after, "lines": three_way_diff.lines(found)}


def _show(request: HttpRequest, caller: Caller, address: Address, found: dict[str, Any]) -> HttpResponse:
    may_write = not reads_files() and caller.verdict(Action.OVERRIDE_WRITE, address.scope).allowed
    context = {
        "type": current_catalogue().get(address.resource_type),
        "scope": address.scope,
        "page": page_of(request, caller, versions_of(address), order=("-version",)),
        "may_write": may_write,
        **found,
    }
    return render(request, "console/overrides/history.html", context)


def _version(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        message = f"{text[:20]!r} is not a version. Choose two of the list."
        raise InvalidRequest(message, errors=[FieldError("?from", "malformed", message)])
    return int(text)
