"""The audit log: who did what to what, when and why, before and after."""

from __future__ import annotations

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.copying import curl
from console.pages import page, page_of
from console.records import changes
from controlplane.access.callers import Caller
from controlplane.access.models import AuditRecord
from controlplane.access.roles import Action

NAMES = ("actor", "object_type", "object_id", "request_id", "action")


@page
def audit(request: HttpRequest, caller: Caller) -> HttpResponse:
    scopes = caller.scopes_for(Action.AUDIT_READ)
    if not scopes:
        caller.require(Action.AUDIT_READ)
    asked = {name: request.GET.get(name, "").strip() for name in NAMES}
    filters = {name: value for name, value in asked.items() if value}
    rows = AuditRecord.objects.within(scopes).annotate(now=Now())
    known = all(value.isprintable() for value in filters.values())
    found = page_of(request, caller, rows.filter(**filters) if known else rows.none(), order=("-id",))
    told = {name: value for name, value in filters.items() if name != "action"}
    context = {
        "asked": asked,
        "filtered": bool(filters),
        "found": found,
        "records": [(one, changes.lines(one.before, one.after)) for one in found.items],
        "curl": curl(request, "GET", f"audit{'?' if told else ''}{urlencode(told)}"),
    }
    return render(request, "console/records/audit.html", context)
