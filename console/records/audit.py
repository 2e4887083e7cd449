"""The audit log: who did what to what, when and why, before and after."""

from __future__ import annotations

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import curl
from console.pages import page, page_of
from console.records import changes
from console.records.export import as_csv, as_json_lines
from controlplane.access.models import AuditRecord
from controlplane.access.visible_audit import visible_records
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

NAMES = ("actor", "object_type", "object_id", "request_id", "action")


# An export holds so many at most: the newest that fit the filters.
_MOST_EXPORTED = 10_000
_COLUMNS = (
    "id",
    "at",
    "actor",
    "action",
    "object_type",
    "object_id",
    "reason",
    "request_id",
    "before",
    "after",
)


@page
def audit(request: HttpRequest, caller: Caller) -> HttpResponse:
    asked = {name: request.GET.get(name, "").strip() for name in NAMES}
    filters = {name: value for name, value in asked.items() if value}
    found = page_of(request, caller, _fitting(caller, filters), order=("-id",))
    told = {name: value for name, value in filters.items() if name != "action"}
    context = {
        "asked": asked,
        "filtered": bool(filters),
        "query": urlencode(filters),
        "most": _MOST_EXPORTED,
        "found": found,
        "records": [(one, changes.lines(one.before, one.after)) for one in found.items],
        "curl": curl(request, "GET", f"audit{'?' if told else ''}{urlencode(told)}"),
    }
    return render(request, "console/records/audit.html", context)


@page
def export(request: HttpRequest, caller: Caller) -> HttpResponse:
    """`?format=csv`, or JSON lines; with the filters of the page."""
    asked = {name: request.GET.get(name, "").strip() for name in NAMES}
    rows = _fitting(caller, {name: value for name, value in asked.items() if value})
    records = rows.order_by("-id").values(*_COLUMNS)[:_MOST_EXPORTED]
    is_csv = request.GET.get("format") == "csv"
    text = as_csv(_COLUMNS, records) if is_csv else as_json_lines(records)
    kind, ending = ("text/csv", "csv") if is_csv else ("application/jsonl", "jsonl")
    headers = {"Content-Disposition": f'attachment; filename="audit.{ending}"', "Cache-Control": "no-store"}
    return HttpResponse(text, content_type=f"{kind}; charset=utf-8", headers=headers)


def _fitting(caller: Caller, filters: dict[str, str]) -> QuerySet[AuditRecord]:
    caller.require_somewhere(Action.AUDIT_READ)
    rows = visible_records(caller).annotate(now=Now())
    known = all(value.isprintable() for value in filters.values())
    return rows.filter(**filters) if known else rows.none()
