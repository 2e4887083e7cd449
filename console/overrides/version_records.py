"""The audit records of an override's versions, as far as a caller may read them."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet
from django.urls import reverse

from controlplane.access.models import AuditRecord
from controlplane.access.visible_audit import visible_records
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.models import OverrideVersion
from overrides.resolution.addresses import Address


def record_urls(caller: Caller, address: Address, versions: Sequence[OverrideVersion]) -> dict[int, str]:
    """Return the page of the audit record of each version, without those that the caller may not read."""
    if not versions or not caller.scopes_for(Action.AUDIT_READ):
        return {}
    rows = _records(caller, address, [row.version for row in versions])
    ids = {_version_of(before, after): record for record, before, after in rows.order_by("id")}
    return {version: f"{reverse('audit')}?id={record}&open={record}" for version, record in ids.items()}


def _records(
    caller: Caller, address: Address, versions: Sequence[int]
) -> QuerySet[AuditRecord, tuple[int, int | None, int | None]]:
    written = Q(after__version__in=versions)
    # A deletion is a version of its own, but has no state after it.
    deleted = Q(after__isnull=True, before__version__in=[version - 1 for version in versions])
    rows = visible_records(caller).filter(object_type="override", object_id=str(address))
    return rows.filter(written | deleted).values_list("id", "before__version", "after__version")


def _version_of(before: int | None, after: int | None) -> int:
    return after if after is not None else (before or 0) + 1
