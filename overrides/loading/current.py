"""What stands at addresses right now, read for a change that holds the revision lock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection

from controlplane.database.bulk import recordset
from controlplane.database.scoped import as_row
from controlplane.scopes import Scope, by_project
from overrides.field_managers import Owners
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes


@dataclass(frozen=True, slots=True)
class Standing:
    """One override as it stands. attributes: None where nothing is set; version: the last one ever."""

    address: Address
    attributes: Attributes | None = None
    owners: Owners = field(default_factory=dict)
    version: int = 0
    override_id: UUID | None = None
    declared_in: str = ""

    @property
    def present_version(self) -> int | None:
        """The version to compare a precondition with."""
        return None if self.attributes is None else self.version


def load_standing(addresses: Iterable[Address]) -> dict[Address, Standing]:
    """Return what stands at each address, deleted or never set ones included."""
    wanted = list(dict.fromkeys(addresses))
    # In the order of the index, where neighbours lie on one page.
    ordered = sorted(wanted, key=lambda one: by_project(one.scope))
    rows = ({**as_row(one.scope), "n": number, "t": one.resource_type} for number, one in enumerate(ordered))
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, [recordset(rows)])
        found = {ordered[row[0]]: _standing(ordered[row[0]], row[1:]) for row in cursor}
    return {one: found[one] for one in wanted}


def managed_by(manager: str, *, within: Sequence[Scope]) -> list[Address]:
    """The addresses of overrides with a value that the manager manages, at or below the scopes."""
    with connection.cursor() as cursor:
        cursor.execute(_MANAGED, [json.dumps([manager])])
        found = [Address(row[0], Scope(row[2], row[1], row[3], row[4])) for row in cursor]
    return [one for one in found if any(scope.covers(one.scope) for scope in within)]


def _standing(address: Address, row: Sequence[Any]) -> Standing:
    override_id, attributes, owners, version, declared_in = row
    return Standing(
        address,
        None if attributes is None else msgspec.json.decode(attributes),
        msgspec.json.decode(owners) if owners else {},
        version,
        override_id,
        declared_in or "",
    )


# Versions go on rising over deletions, so what is not there asks its history.
_STANDING = """
SELECT k.n, o.id, o.attributes::text, o.owners::text, coalesce(o.version, past.version, 0), o.declared_in
FROM json_to_recordset(%s::json) AS k (n int, t text, p text, d text, w text, l text)
LEFT JOIN overrides_override AS o
  ON o.project = k.p AND o.domain = k.d AND o.workflow = k.w AND o.launch_plan = k.l AND o.resource_type = k.t
LEFT JOIN LATERAL (
    SELECT max(v.version) AS version FROM overrides_overrideversion AS v
    WHERE o.id IS NULL AND v.project = k.p AND v.domain = k.d AND v.workflow = k.w
      AND v.launch_plan = k.l AND v.resource_type = k.t
) AS past ON true
"""
_MANAGED = """
SELECT resource_type, project, domain, workflow, launch_plan FROM overrides_override
WHERE owners <> '{}'::jsonb AND jsonb_path_exists(owners, '$.* ? (@[*] == $manager)',
      jsonb_build_object('manager', (%s::jsonb)->0))
"""
