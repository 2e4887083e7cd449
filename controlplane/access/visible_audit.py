"""Visibility of audit records."""

from __future__ import annotations

from django.db.models import QuerySet

from controlplane.access.models import AuditRecord
from controlplane.events.visibility import rights_of, rows_with
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope

# Filters by no index: a page looks through a limited number of records for them.
UNINDEXED_FILTERS = ("action", "project", "domain")


def visible_records(caller: Caller) -> QuerySet[AuditRecord]:
    """Return the audit records that the caller may read.

    With `audit.read` at the global scope, these are all records; with `audit.read` at another scope, the
    records at and below it of objects that the caller may read there.
    """
    if Scope() in caller.scopes_for(Action.AUDIT_READ):
        return AuditRecord.objects.all()
    return AuditRecord.objects.filter(rows_with(rights_of(caller, Action.AUDIT_READ, frozenset()), "action"))
