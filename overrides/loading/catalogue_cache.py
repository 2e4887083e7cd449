"""The catalogue: the types and guard rails in effect now, or at a revision.

They change rarely, and every read of effective values needs all of them. So each process caches the last
few catalogues by the revision that made them: a change of a type or rail marks its revision with
`everything`, and a reader gets the newest such revision in the same query as its rows (layers.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import structlog
from prometheus_client import Counter

from controlplane.errors import ControlplaneError
from controlplane.observability.label_values import FirstValues
from controlplane.scopes import Level
from overrides.models import GuardRailRow, Revision, TypeDefinition
from overrides.resolution.rails import GuardRail
from overrides.resource_types import BUILT_IN, ResourceType
from overrides.resource_types.catalogue import Catalogue
from overrides.resource_types.operators import path_of, restore

# Types that have their own series.
MOST_TYPES = 20
_TYPES = FirstValues(MOST_TYPES)
UNREADABLE_TYPES = Counter(
    "cp_unreadable_resource_types_total", "Stored definitions that cannot be read.", ["resource_type"]
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CatalogueVersion:
    """The revision that made a catalogue, and when. Numbers alone repeat after a restore from backup."""

    revision: int = 0
    made_at: datetime | None = None


def current_catalogue(as_of: int | None = None) -> Catalogue:
    """Return the catalogue of now, or of a revision. Under the revision lock it cannot change."""
    revisions = Revision.objects.filter(everything=True)
    if as_of is not None:
        revisions = revisions.filter(revision__lte=as_of)
    newest = revisions.order_by("-revision").values_list("revision", "made_at").first()
    return catalogue_of(CatalogueVersion(*newest) if newest else CatalogueVersion())


@lru_cache(maxsize=32)
def catalogue_of(version: CatalogueVersion) -> Catalogue:
    """Load the catalogue. Rows of past revisions never change, so a cached catalogue stays correct."""
    stored = TypeDefinition.objects.as_of(version.revision).order_by("name")
    rails = GuardRailRow.objects.as_of(version.revision).order_by("name")
    return Catalogue(with_types(stored), tuple(rail_of(row) for row in rails))


def with_types(stored: Iterable[TypeDefinition]) -> dict[str, ResourceType]:
    return {
        **BUILT_IN,
        **{row.name: resource_type for row in stored if (resource_type := _restored_type(row)) is not None},
    }


def _restored_type(row: TypeDefinition) -> ResourceType | None:
    """Return the type, or None: one unreadable definition must not make all types unavailable."""
    try:
        return restore(row.definition, version=row.version)
    except (ControlplaneError, AttributeError, LookupError, TypeError, ValueError) as error:
        UNREADABLE_TYPES.labels(_TYPES.label(row.name)).inc()
        log.error("resource_type.left_out", resource_type=row.name, version=row.version, error=repr(error))
        return None


def rail_of(row: GuardRailRow) -> GuardRail:
    rule: Mapping[str, Any] = row.rule
    level = rule.get("lock_below")
    allowed = rule.get("allowed")
    return GuardRail(
        name=row.name,
        scope=row.scope,
        resource_type=row.resource_type,
        path=path_of(row.pointer),
        lock_below=Level[level.upper()] if level else None,
        minimum=rule.get("minimum"),
        maximum=rule.get("maximum"),
        allowed=tuple(allowed) if allowed is not None else None,
        reason=row.reason,
        origin=row,
    )
