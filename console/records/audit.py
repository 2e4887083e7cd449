"""The audit log page, and its export as CSV or JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import urlencode

from console.cpctl_commands import curl
from console.listing import Column, read_listing
from console.pages import load_page, page
from console.records import changes
from console.records.changes import Difference
from console.records.export import as_csv, as_json_lines
from console.records.object_names import present_names
from console.records.objects import AuditedObject, audited_object
from console.stale_lists import may_be_stale
from controlplane.access.audit_chain.chain_state import load_chain_state
from controlplane.access.models import AuditRecord
from controlplane.access.visible_audit import UNINDEXED_FILTERS, visible_records
from controlplane.api.scans import MOST_SCANNED
from controlplane.api.time_range import in_range, read_range
from controlplane.errors import InvalidRequest
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS, Scope

_INDEXED = ("actor", "object_type", "object_id", "request_id")
FILTERS = (*_INDEXED, *UNINDEXED_FILTERS, "id")
_NOT_OF_THE_API = ("id",)
_RANGE = ("since", "until")
# Changed fields that are shown without a click.
_MOST_LINES = 4
_LIST = (
    Column("time", "Time", "narrow", order=("id",), is_optional=False),
    Column("actor", "Actor", "narrow"),
    Column("action", "Action", "medium", is_optional=False),
    Column("object", "Object"),
    Column("object_type", "Object type", "narrow", is_extra=True),
    Column("changes", "Changes"),
    Column("reason", "Reason"),
    Column("client", "Client", "narrow", is_extra=True),
)
_Row = tuple[AuditRecord, AuditedObject, list[Difference], list[Difference]]

_VERIFY_COMMAND = "python manage.py audit_verify"
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
    parameters = _parameters(request)
    filters = {name: value for name, value in parameters.items() if value}
    listing = read_listing(request, "audit", "Audit log", _LIST, sort="-time")
    context: dict[str, Any] = {
        "listing": listing,
        "filters": parameters,
        "filtered": bool(filters),
        **_chain(caller),
    }
    try:
        rows = _matching(caller, filters)
    except InvalidRequest as error:
        # With the form, so that only the time must be corrected.
        return render(request, "console/records/audit.html", {**context, "problem": error}, status=422)
    scanned = _scanned(filters)
    results = load_page(request, caller, rows, order=listing.order, scanned=scanned)
    api_filters = {name: value for name, value in filters.items() if name not in _NOT_OF_THE_API}
    context |= {
        "query": urlencode(filters),
        "max_exported": _MAX_EXPORTED,
        "results": results,
        "looks_through": f"{MOST_SCANNED:,}" if scanned is not None and results.next_cursor else "",
        "records": _rows(results.items, caller),
        "curl": curl(request, "GET", f"audit{'?' if api_filters else ''}{urlencode(api_filters)}"),
    }
    return render(request, "console/records/audit.html", context)


def _chain(caller: Caller) -> dict[str, Any]:
    """Return the state of the chain, without its breaks' places unless the caller reads all records."""
    now = timezone.now()
    return {
        "chain": load_chain_state(now),
        "now": now,
        "may_read_all": caller.verdict(Action.AUDIT_READ).allowed,
        "verify_command": _VERIFY_COMMAND,
    }


def _rows(records: Sequence[AuditRecord], caller: Caller) -> list[_Row]:
    names = present_names(records, caller)
    return [_row(record, names.get(record.object_id, "")) for record in records]


def _row(record: AuditRecord, name_now: str) -> _Row:
    """Return a record with its object, the changes to show at once, and the others."""
    lines = changes.compare(record.before, record.after)
    scope = Scope(**{name: getattr(record, name) for name in SEGMENTS})
    subject = audited_object(
        record.object_type, record.object_id, record.before, record.after, scope, name_now=name_now
    )
    # What was created or deleted has all its fields; a change, the few that differ.
    is_change = record.before is not None and record.after is not None
    at_once = (_MOST_LINES if len(lines) <= _MOST_LINES else _MOST_LINES - 1) if is_change else 0
    return record, subject, lines[:at_once], lines[at_once:]


@page
def export(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Download `?format=csv` or JSON lines, with the filters of the page."""
    rows = _matching(caller, {name: value for name, value in _parameters(request).items() if value})
    records = rows.order_by("-id").values(*_COLUMNS)[:_MAX_EXPORTED]
    is_csv = request.GET.get("format") == "csv"
    text = as_csv(_COLUMNS, records) if is_csv else as_json_lines(records)
    media_type, ending = ("text/csv", "csv") if is_csv else ("application/jsonl", "jsonl")
    headers = {"Content-Disposition": f'attachment; filename="audit.{ending}"', "Cache-Control": "no-store"}
    return HttpResponse(text, content_type=f"{media_type}; charset=utf-8", headers=headers)


def _parameters(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET.get(name, "").strip() for name in (*FILTERS, *_RANGE)}


def _matching(caller: Caller, filters: dict[str, str]) -> QuerySet[AuditRecord]:
    """Raises InvalidRequest if a time cannot be read."""
    if not caller.owners_for(Action.AUDIT_READ):
        caller.require_somewhere(Action.AUDIT_READ)
    rows = visible_records(caller).filter(in_range(read_range(filters))).annotate(now=Now())
    values = {name: value for name, value in filters.items() if name not in _RANGE}
    printable = all(value.isprintable() for value in values.values())
    return rows.filter(**values) if printable and _is_id(values.get("id", "0")) else rows.none()


def _scanned(filters: dict[str, str]) -> QuerySet[AuditRecord] | None:
    """Return the records that a page looks through; None if an index finds the ones that match."""
    if not any(name in filters for name in UNINDEXED_FILTERS):
        return None
    indexed = {name: filters[name] for name in _INDEXED if name in filters}
    return AuditRecord.objects.filter(in_range(read_range(filters)), **indexed)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19
