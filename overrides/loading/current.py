"""Current overrides at addresses, read for a change that holds the revision lock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection

from controlplane.database.bulk import recordset
from controlplane.database.scoped import as_row
from controlplane.scopes import Scope, by_project
from overrides.field_managers import Owners
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes, canonical


@dataclass(frozen=True)
class CurrentOverride:
    """The current override at an address. attributes: None where nothing is set; version: the latest."""

    address: Address
    attributes: Attributes | None = None
    owners: Owners = field(default_factory=dict)
    version: int = 0
    override_id: UUID | None = None
    declared_in: str = ""

    @property
    def present_version(self) -> int | None:
        """The version that a precondition is compared with."""
        return None if self.attributes is None else self.version

    @cached_property
    def text(self) -> str | None:
        """The attributes as canonical JSON; None where nothing is set."""
        return None if self.attributes is None else canonical(self.attributes)

    @cached_property
    def owners_text(self) -> str:
        return canonical(self.owners)


def load_current(addresses: Iterable[Address]) -> dict[Address, CurrentOverride]:
    """Return the current override of each address, including addresses where nothing is set."""
    unique = list(dict.fromkeys(addresses))
    # In the order of the index, so that neighbours share a page.
    ordered = sorted(unique, key=lambda address: by_project(address.scope))
    rows = (
        {**as_row(address.scope), "n": number, "t": address.resource_type}
        for number, address in enumerate(ordered)
    )
    with connection.cursor() as cursor:
        cursor.execute(_CURRENT, [recordset(rows)])
        overrides = {ordered[row[0]]: _current_override(ordered[row[0]], row[1:]) for row in cursor}
    return {address: overrides[address] for address in unique}


def managed_by(manager: str, *, within: Sequence[Scope]) -> list[Address]:
    """Return the addresses, at or below the scopes, of overrides with a value that the manager manages."""
    with connection.cursor() as cursor:
        cursor.execute(_MANAGED, [json.dumps([manager])])
        managed = [Address(row[0], Scope(row[2], row[1], row[3], row[4])) for row in cursor]
    return [address for address in managed if any(scope.covers(address.scope) for scope in within)]


def _current_override(address: Address, row: Sequence[Any]) -> CurrentOverride:
    override_id, attributes, owners, version, declared_in = row
    return CurrentOverride(
        address,
        None if attributes is None else msgspec.json.decode(attributes),
        msgspec.json.decode(owners) if owners else {},
        version,
        override_id,
        declared_in or "",
    )


# Versions keep rising across deletions, so an address without an override takes its version from history.
_CURRENT = """
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
