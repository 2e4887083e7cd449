"""The audit log page, and its export as CSV or JSON lines."""

from __future__ import annotations

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode

from console.cpctl_commands import curl
from console.pages import load_page, page
from console.records import changes
from console.records.export import as_csv, as_json_lines
from console.stale_lists import may_be_stale
from controlplane.access.models import AuditRecord
from controlplane.access.visible_audit import visible_records
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action

FILTERS = ("actor", "object_type", "object_id", "request_id", "action")


# Maximum number of exported records: the newest that match the filters.
_MAX_EXPORTED = 10_000
_COLUMNS = (
    "id",
    "at",
    "actor",
    "action",
    "object_type",
    "object_id",
    "reason",
    "request_id",
    "client",
    "identity",
    "session_hint",
    "before",
    "after",
)


@page
@may_be_stale
def audit(request: HttpRequest, caller: Caller) -> HttpResponse:
    parameters = {name: request.GET.get(name, "").strip() for name in FILTERS}
    filters = {name: value for name, value in parameters.items() if value}
    results = load_page(request, caller, _matching(caller, filters), order=("-id",))
    api_filters = {name: value for name, value in filters.items() if name != "action"}
    context = {
        "filters": parameters,
        "filtered": bool(filters),
        "query": urlencode(filters),
        "max_exported": _MAX_EXPORTED,
        "results": results,
        "records": [(record, changes.compare(record.before, record.after)) for record in results.items],
        "curl": curl(request, "GET", f"audit{'?' if api_filters else ''}{urlencode(api_filters)}"),
    }
    return render(request, "console/records/audit.html", context)


@page
def export(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Download `?format=csv` or JSON lines, with the filters of the page."""
    parameters = {name: request.GET.get(name, "").strip() for name in FILTERS}
    rows = _matching(caller, {name: value for name, value in parameters.items() if value})
    records = rows.order_by("-id").values(*_COLUMNS)[:_MAX_EXPORTED]
    is_csv = request.GET.get("format") == "csv"
    text = as_csv(_COLUMNS, records) if is_csv else as_json_lines(records)
    media_type, ending = ("text/csv", "csv") if is_csv else ("application/jsonl", "jsonl")
    headers = {"Content-Disposition": f'attachment; filename="audit.{ending}"', "Cache-Control": "no-store"}
    return HttpResponse(text, content_type=f"{media_type}; charset=utf-8", headers=headers)


def _matching(caller: Caller, filters: dict[str, str]) -> QuerySet[AuditRecord]:
    if not caller.owners_for(Action.AUDIT_READ):
        caller.require_somewhere(Action.AUDIT_READ)
    rows = visible_records(caller).annotate(now=Now())
    printable = all(value.isprintable() for value in filters.values())
    return rows.filter(**filters) if printable else rows.none()
