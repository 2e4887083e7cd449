"""Write a validated change: overrides, history, scope heads, audit entries and events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlencode

from django.db import connection

from controlplane.access import audit
from controlplane.database.bulk import as_json, copy_rows
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7
from controlplane.scopes import SEGMENTS, by_project
from overrides import event_types
from overrides.editing.draft import Draft
from overrides.loading.revisions import take_revision
from overrides.models import OverrideVersion, Revision
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes, canonical

# Each process caches the last 10,000 events for event streams.
_MAX_EVENT_BYTES = 8 * 1024


def store(drafts: Sequence[Draft], actor: Actor) -> int:
    """Write drafts that change something in one new revision; return it. The caller holds the lock."""
    revision = take_revision(actor, changes=len(drafts))
    # In the order of the index, so that neighbours share a page.
    ordered = sorted(drafts, key=lambda draft: by_project(draft.address.scope))
    # The other statements read the history, so that the data is sent once, by COPY. A database restored from
    # backup repeats revision numbers: number and time together identify this revision's rows.
    copy_rows(OverrideVersion, _COLUMNS, (_row(draft, revision) for draft in ordered))
    with connection.cursor() as cursor:
        for statement in (_DELETE, _UPSERT, _MOVE_HEADS):
            cursor.execute(statement, [revision.revision, revision.made_at])
    audit.record_many("override", [_mutation(draft, revision) for draft in drafts], actor=actor)
    return revision.revision


def move_declarations(drafts: Iterable[Draft]) -> None:
    """Update where unchanged overrides are declared: line numbers move whenever a file is edited."""
    moved = [
        draft
        for draft in drafts
        if draft.declared_in != draft.current.declared_in and draft.after is not None
    ]
    if moved:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE overrides_override AS o SET declared_in = moved.place"
                " FROM unnest(%s::uuid[], %s::text[]) AS moved (id, place) WHERE o.id = moved.id",
                [[draft.current.override_id for draft in moved], [draft.declared_in for draft in moved]],
            )


def _row(draft: Draft, revision: Revision) -> tuple[Any, ...]:
    current = draft.current
    return (
        current.override_id or uuid7(),
        draft.address.resource_type,
        *draft.address.scope.path,
        as_json(draft.after),
        as_json(draft.owners),
        draft.declared_in,
        current.version + 1,
        revision.revision,
        revision.made_at,
        revision.made_by,
        revision.change_message,
        revision.request_id,
    )


def _mutation(draft: Draft, revision: Revision) -> audit.Mutation:
    address, current = draft.address, draft.current
    version = current.version + 1
    return audit.Mutation(
        _event_type(draft),
        str(address),
        None if current.attributes is None else _snapshot(draft, current.attributes, current.version),
        None if draft.after is None else _snapshot(draft, draft.after, version),
        {
            "resource_type": address.resource_type,
            "scope": address.scope.segments,
            "version": version,
            "revision": revision.revision,
            **before_and_after(current.attributes, draft.after),
            "version_url": _version_url(address, version),
        },
        address.scope,
    )


def before_and_after(before: Attributes | None, after: Attributes | None) -> dict[str, Any]:
    """Return the attributes for an event: complete, or omitted if they are large."""
    truncated = len(canonical([before, after]).encode()) > _MAX_EVENT_BYTES
    snapshots = (None, None) if truncated else (before, after)
    return {"before": snapshots[0], "after": snapshots[1], "truncated": truncated}


def _version_url(address: Address, version: int) -> str:
    query = urlencode({name: value for name, value in address.scope.segments.items() if value})
    path = f"/api/v1/overrides/{address.resource_type}/versions/{version}"
    return f"{path}?{query}" if query else path


def _event_type(draft: Draft) -> EventType:
    if draft.current.attributes is None:
        return event_types.OVERRIDE_CREATED
    return event_types.OVERRIDE_DELETED if draft.after is None else event_types.OVERRIDE_UPDATED


def _snapshot(draft: Draft, attributes: Any, version: int) -> dict[str, Any]:
    """Return the override as the audit log stores it."""
    return {
        "resource_type": draft.address.resource_type,
        "scope": draft.address.scope.segments,
        "attributes": attributes,
        "version": version,
    }


_COLUMNS = (
    *("override_id", "resource_type", *SEGMENTS, "attributes", "owners", "declared_in", "version"),
    *("revision", "changed_at", "changed_by", "change_message", "request_id"),
)
_DELETE = """
DELETE FROM overrides_override AS o USING overrides_overrideversion AS v
WHERE v.revision = %s AND v.changed_at = %s AND v.attributes IS NULL AND o.id = v.override_id
"""
_UPSERT = """
INSERT INTO overrides_override AS o (
    id, resource_type, project, domain, workflow, launch_plan, attributes, owners, declared_in, version,
    revision, changed_at, changed_by, change_message
)
SELECT override_id, resource_type, project, domain, workflow, launch_plan, attributes, owners, declared_in,
       version, revision, changed_at, changed_by, change_message
FROM overrides_overrideversion WHERE revision = %s AND changed_at = %s AND attributes IS NOT NULL
ON CONFLICT (project, domain, workflow, launch_plan, resource_type) DO UPDATE SET
    revision = excluded.revision, changed_at = excluded.changed_at, changed_by = excluded.changed_by,
    change_message = excluded.change_message, attributes = excluded.attributes, owners = excluded.owners,
    declared_in = excluded.declared_in, version = excluded.version
"""
_MOVE_HEADS = """
INSERT INTO overrides_scopehead (revision, project, domain, workflow, launch_plan)
SELECT DISTINCT revision, project, domain, workflow, launch_plan
FROM overrides_overrideversion WHERE revision = %s AND changed_at = %s
ON CONFLICT (project, domain, workflow, launch_plan) DO UPDATE SET revision = excluded.revision
"""
