"""The history of an override: list and compare versions, preview and confirm a rollback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.overrides import three_way_diff, version_records
from console.overrides.editor import show_plan
from console.overrides.form_input import address_of
from console.overrides.write_mode import readable_source
from console.pages import actor_of, load_page, page
from console.templatetags.parts import scope_url
from controlplane.errors import FieldError, InvalidRequest
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.editing.commit import CommitOptions
from overrides.editing.plans import Plan, differences
from overrides.editing.writes import WriteOptions
from overrides.history.history import get_version, versions_of
from overrides.history.rollback import roll_back_override
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import OverrideVersion
from overrides.resolution.addresses import Address
from overrides.write_mode import reads_files


@page
def history(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    if request.method == "POST":
        return _roll_back(request, caller, resource_type)
    address = address_of(request, caller, resource_type, Action.OVERRIDE_READ)
    context = {}
    if "from" in request.GET and "to" in request.GET:
        earlier, later = _version(request.GET["from"]), _version(request.GET["to"])
        context = _compare(address, *sorted((earlier, later)))
    return _show(request, caller, address, context)


def _roll_back(request: HttpRequest, caller: Caller, resource_type: str) -> HttpResponse:
    address = address_of(request, caller, resource_type, Action.OVERRIDE_WRITE)
    version = _version(request.POST.get("to_version", ""))
    is_save = request.POST.get("do") == "save"
    reason = request.POST.get("reason", "").strip()[:500] or f"Roll back to version {version}."
    with transaction.atomic():
        actor = actor_of(caller, reason, ticket=request.POST.get("ticket", "").strip()[:200])
        plan = _restore(actor, address, version, saves=is_save)
        if not is_save:
            transaction.set_rollback(True)
    if is_save:
        messages.success(request, f"Rolled back to version {version}.")
        return redirect(scope_url("override-history", address.scope, resource_type))
    return _show(request, caller, address, {"plan": show_plan(plan, caller), "to_version": version})


def _restore(actor: Actor, address: Address, version: int, *, saves: bool) -> Plan:
    # The preview shows the number of affected scopes and serves as confirmation.
    options = WriteOptions(
        commit_options=CommitOptions(wants_plan=True, asks=False, heeds_freezes=saves, heeds_approvals=saves)
    )
    return roll_back_override(address, to_version=version, actor=actor, options=options)


def _compare(address: Address, earlier: int, later: int) -> dict[str, Any]:
    before, after = get_version(address, earlier), get_version(address, later)
    rule = current_catalogue().rule_of(address.resource_type)
    changes = differences(before.attributes, after.attributes, rule)
    return {"before": before, "after": after, "lines": three_way_diff.lines(changes)}


def _show(request: HttpRequest, caller: Caller, address: Address, extra: dict[str, Any]) -> HttpResponse:
    may_write = not reads_files() and caller.verdict(Action.OVERRIDE_WRITE, address.scope).allowed
    versions = load_page(request, caller, versions_of(address), order=("-version",))
    record_urls = version_records.record_urls(caller, address, versions.items)
    context = {
        "type": current_catalogue().get(address.resource_type),
        "scope": address.scope,
        "page": versions,
        "deleted_version": "" if request.GET.get("cursor") else _last_before_deletion(versions.items),
        "may_write": may_write,
        "rows": [(row, record_urls.get(row.version, "")) for row in versions.items],
        "source": readable_source(caller),
        **extra,
    }
    return render(request, "console/overrides/history.html", context)


def _last_before_deletion(versions: Sequence[OverrideVersion]) -> int | None:
    """Return the version to restore, if the newest of these is a deletion."""
    if not versions or versions[0].attributes is not None:
        return None
    return next((each.version for each in versions if each.attributes is not None), None)


def _version(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        message = f"{text[:20]!r} is not a version. Choose two versions of the list."
        raise InvalidRequest(message, errors=[FieldError("?from", "malformed", message)])
    return int(text)
