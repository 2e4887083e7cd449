"""Write a change that was decided: overrides, history, scope heads, audit rows, events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import connection

from controlplane.access import audit
from controlplane.access.actors import Actor
from controlplane.bulk_rows import recordset
from controlplane.events.types import EventType
from controlplane.ids import uuid7
from controlplane.scoped_rows import as_row
from overrides import event_types
from overrides.models import Revision
from overrides.revisions import take_revision

if TYPE_CHECKING:
    from overrides.changing import Draft


def store(drafts: Sequence[Draft], actor: Actor) -> int:
    """Write drafts that change something, under one new revision; return it. The caller holds the lock."""
    scopes = list(dict.fromkeys(draft.address.scope for draft in drafts))
    revision = take_revision(actor, changes=len(drafts), scopes=scopes)
    ids = [draft.standing.override_id or uuid7() for draft in drafts]
    with connection.cursor() as cursor:
        _delete(cursor, drafts)
        _upsert(cursor, drafts, ids, revision)
        _remember(cursor, drafts, ids, revision)
    mutations = [_mutation(draft, revision) for draft in drafts]
    audit.record_many("override", mutations, actor=actor)
    return revision.revision


def move_declarations(drafts: Iterable[Draft]) -> None:
    """Note where unchanged overrides are declared now: lines move whenever a file is edited."""
    moved = [one for one in drafts if one.declared_in != one.standing.declared_in and one.after is not None]
    if moved:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE overrides_override AS o SET declared_in = moved.place"
                " FROM unnest(%s::uuid[], %s::text[]) AS moved (id, place) WHERE o.id = moved.id",
                [[one.standing.override_id for one in moved], [one.declared_in for one in moved]],
            )


def _delete(cursor: Any, drafts: Iterable[Draft]) -> None:
    if gone := [draft.standing.override_id for draft in drafts if draft.after is None]:
        cursor.execute("DELETE FROM overrides_override WHERE id = ANY(%s::uuid[])", [gone])


def _upsert(cursor: Any, drafts: Sequence[Draft], ids: Sequence[UUID], revision: Revision) -> None:
    kept = [(draft, id_) for draft, id_ in zip(drafts, ids, strict=True) if draft.after is not None]
    if kept:
        cursor.execute(_UPSERT, [*_facts(revision), recordset(_row(draft, id_) for draft, id_ in kept)])


def _remember(cursor: Any, drafts: Sequence[Draft], ids: Sequence[UUID], revision: Revision) -> None:
    rows = (_row(draft, id_) for draft, id_ in zip(drafts, ids, strict=True))
    cursor.execute(_REMEMBER, [*_facts(revision), revision.request_id, recordset(rows)])


def _facts(revision: Revision) -> list[Any]:
    return [revision.revision, revision.made_at, revision.made_by, revision.change_message]


def _row(draft: Draft, id_: UUID) -> dict[str, Any]:
    return {
        **as_row(draft.address.scope),
        "i": str(id_),
        "t": draft.address.resource_type,
        "a": draft.after,
        "o": draft.owners,
        "f": draft.declared_in,
        "v": draft.standing.version + 1,
    }


def _mutation(draft: Draft, revision: Revision) -> audit.Mutation:
    address, standing = draft.address, draft.standing
    version = standing.version + 1
    return audit.Mutation(
        _event_type(draft),
        str(address),
        None if standing.attributes is None else _snapshot(draft, standing.attributes, standing.version),
        None if draft.after is None else _snapshot(draft, draft.after, version),
        {
            "resource_type": address.resource_type,
            "scope": address.scope.segments,
            "version": version,
            "revision": revision.revision,
        },
        address.scope,
    )


def _event_type(draft: Draft) -> EventType:
    if draft.standing.attributes is None:
        return event_types.OVERRIDE_CREATED
    return event_types.OVERRIDE_DELETED if draft.after is None else event_types.OVERRIDE_UPDATED


def _snapshot(draft: Draft, attributes: Any, version: int) -> dict[str, Any]:
    """The override as the audit log keeps it."""
    return {
        "resource_type": draft.address.resource_type,
        "scope": draft.address.scope.segments,
        "attributes": attributes,
        "version": version,
    }


_UPSERT = """
INSERT INTO overrides_override AS o (
    revision, changed_at, changed_by, change_message,
    id, resource_type, project, domain, workflow, launch_plan, attributes, owners, declared_in, version
)
SELECT %s::bigint, %s::timestamptz, %s::text, %s::text, r.*
FROM json_to_recordset(%s::json) AS r
     (i uuid, t text, p text, d text, w text, l text, a jsonb, o jsonb, f text, v bigint)
ON CONFLICT (project, domain, workflow, launch_plan, resource_type) DO UPDATE SET
    revision = excluded.revision, changed_at = excluded.changed_at, changed_by = excluded.changed_by,
    change_message = excluded.change_message, attributes = excluded.attributes, owners = excluded.owners,
    declared_in = excluded.declared_in, version = excluded.version
"""
_REMEMBER = """
INSERT INTO overrides_overrideversion (
    revision, changed_at, changed_by, change_message, request_id,
    override_id, resource_type, project, domain, workflow, launch_plan,
    attributes, owners, declared_in, version
)
SELECT %s::bigint, %s::timestamptz, %s::text, %s::text, %s::text,
       r.i, r.t, r.p, r.d, r.w, r.l, nullif(r.a, 'null'::jsonb), r.o, r.f, r.v
FROM json_to_recordset(%s::json) AS r
     (i uuid, t text, p text, d text, w text, l text, a jsonb, o jsonb, f text, v bigint)
"""
