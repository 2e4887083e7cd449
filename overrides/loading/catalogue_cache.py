"""Which catalogue holds: the types and guard rails of now, or of a revision.

They change rarely, and whoever reads effective values needs all of them. So each process keeps the last
few catalogues by the revision that made them: a change of a type or rail marks its revision with
`everything`, and a reader learns the newest such revision in the same query as its rows (layers.py).
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
from controlplane.scopes import Level
from overrides.models import GuardRailRow, Revision, TypeDefinition
from overrides.resolution.rails import GuardRail
from overrides.resource_types import BUILT_IN, ResourceType
from overrides.resource_types.catalogue import Catalogue
from overrides.resource_types.operators import path_of, restore

UNREADABLE_TYPES = Counter(
    "cp_unreadable_resource_types_total", "Stored definitions that cannot be read.", ["resource_type"]
)
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Edition:
    """Which catalogue: the revision that made it, and when. A number alone is used again after a rollback."""

    revision: int = 0
    made_at: datetime | None = None


def current_catalogue(as_of: int | None = None) -> Catalogue:
    """The catalogue of now, or of a revision. Under the revision lock that of now cannot change."""
    made = Revision.objects.filter(everything=True)
    if as_of is not None:
        made = made.filter(revision__lte=as_of)
    newest = made.order_by("-revision").values_list("revision", "made_at").first()
    return catalogue_of(Edition(*newest) if newest else Edition())


@lru_cache(maxsize=32)
def catalogue_of(edition: Edition) -> Catalogue:
    """Load it. Rows of the past never change, so what was loaded stays right."""
    stored = TypeDefinition.objects.as_of(edition.revision).order_by("name")
    rails = GuardRailRow.objects.as_of(edition.revision).order_by("name")
    return Catalogue(with_types(stored), tuple(rail_of(row) for row in rails))


def with_types(stored: Iterable[TypeDefinition]) -> dict[str, ResourceType]:
    return {**BUILT_IN, **{row.name: one for row in stored if (one := _restored(row)) is not None}}


def _restored(row: TypeDefinition) -> ResourceType | None:
    """The type, or None: one definition that cannot be read must not take all types away."""
    try:
        return restore(row.definition, version=row.version)
    except (ControlplaneError, AttributeError, LookupError, TypeError, ValueError) as error:
        UNREADABLE_TYPES.labels(row.name).inc()
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
