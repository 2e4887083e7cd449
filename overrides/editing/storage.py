"""Write a validated change: overrides, history, scope heads, audit entries and events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from django.db import connection

from controlplane.access import audit
from controlplane.database.bulk import copy_rows
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7_texts
from controlplane.scopes import by_project
from overrides.editing import records
from overrides.editing.draft import Draft
from overrides.loading.revisions import take_revision
from overrides.models import OverrideVersion
from overrides.quotas import check_documents


def store(drafts: Sequence[Draft], actor: Actor, *, heeds_quotas: bool = True) -> int:
    """Write drafts that change something in one new revision; return it. The caller holds the lock.

    Raises QuotaExceeded.
    """
    revision = take_revision(actor, changes=len(drafts))
    # In the order of the index, so that neighbours share a page.
    ordered = sorted(drafts, key=lambda draft: by_project(draft.address.scope))
    # The other statements read the history, so that the data is sent once, by COPY. A database restored from
    # backup repeats revision numbers: number and time together identify this revision's rows.
    ending = records.ending_of(revision)
    rows = (
        records.version_row(draft, draft.current.override_id or new_id, ending)
        for draft, new_id in zip(ordered, uuid7_texts(len(ordered)), strict=True)
    )
    copy_rows(OverrideVersion, records.COLUMNS, rows)
    with connection.cursor() as cursor:
        for statement in _statements_for(drafts):
            cursor.execute(statement, [revision.revision, revision.made_at])
    if revision.has_quota and heeds_quotas:
        check_documents((draft.address.scope, _step(draft)) for draft in drafts)
    mutations = [records.mutation(draft, revision.revision) for draft in drafts]
    audit.record_encoded("override", mutations, actor=actor)
    return revision.revision


def _step(draft: Draft) -> int:
    """Return by how much the draft changes the number of documents."""
    return int(draft.after is not None) - int(draft.current.attributes is not None)


def _statements_for(drafts: Sequence[Draft]) -> Iterator[str]:
    """Yield the statements that these drafts need: nobody else inserts while the caller holds the lock."""
    if any(draft.after is None for draft in drafts):
        yield _DELETE
    is_new = all(draft.current.override_id is None for draft in drafts)
    yield _INSERT if is_new else _INSERT + _OR_UPDATE
    yield _MOVE_HEADS


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


_DELETE = """
DELETE FROM overrides_override AS o USING overrides_overrideversion AS v
WHERE v.revision = %s AND v.changed_at = %s AND v.attributes IS NULL AND o.id = v.override_id
"""
_INSERT = """
INSERT INTO overrides_override AS o (
    id, resource_type, project, domain, workflow, launch_plan, attributes, owners, declared_in, version,
    revision, changed_at, changed_by, change_message
)
SELECT override_id, resource_type, project, domain, workflow, launch_plan, attributes, owners, declared_in,
       version, revision, changed_at, changed_by, change_message
FROM overrides_overrideversion WHERE revision = %s AND changed_at = %s AND attributes IS NOT NULL
"""
# Looking for a conflict costs a third of inserting.
_OR_UPDATE = """
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
