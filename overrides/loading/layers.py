"""Load what is set on the ladders of scopes: one query, however many scopes.

The statement also says which catalogue holds and which projects and domains are known. So an answer is
of one moment, although it is made of several tables.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from controlplane.scopes import Scope
from overrides.loading.catalogue_cache import Edition, catalogue_of
from overrides.loading.platform_defaults import PlatformDefaults
from overrides.resolution.resolve import Layer
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import Catalogue
from overrides.resource_types.flyte_defaults import CODE_DEFAULTS


@dataclass(frozen=True, slots=True)
class Origin:
    """Who set a layer, when, why and in which version. override_id: None for a platform default."""

    override_id: UUID | None = None
    version: int = 0
    revision: int = 0
    changed_by: str = "platform"
    changed_at: datetime | None = None
    change_message: str = ""
    declared_in: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the one query found. layers: by type, then by scope."""

    layers: Mapping[str, Mapping[Scope, Layer]]
    catalogue: Catalogue
    edition: Edition
    projects: frozenset[str]
    domains: frozenset[str]

    def of(self, one: ResourceType, target: Scope, defaults: PlatformDefaults) -> list[Layer]:
        """The layers that the target inherits of one type, platform defaults first."""
        stored = self.layers.get(one.name, {})
        rungs = (stored.get(scope) for scope in target.ladder())
        return [*default_layers(one, target, defaults), *(layer for layer in rungs if layer is not None)]


def default_layers(one: ResourceType, target: Scope, defaults: PlatformDefaults) -> list[Layer]:
    """What the type and the operator's file say where nothing is set."""
    own = [Layer(Scope(), one.defaults, _OF_TYPE, is_default=True)] if one.defaults else []
    from_file = Origin(changed_by="platform", declared_in=defaults.path)
    return own + [
        Layer(scope, attributes, from_file, is_default=True)
        for scope, attributes in defaults.of(one.name)
        if scope.covers(target)
    ]


_OF_TYPE = Origin(changed_by="resource type")
# Below the operator's file, in what FlyteAdmin would apply.
FLYTEADMIN_LAYERS = {
    name: Layer(Scope(), attributes, Origin(changed_by="FlyteAdmin"), is_default=True)
    for name, attributes in CODE_DEFAULTS.items()
}


def load_layers(scopes: Iterable[Scope], *, resource_type: str = "", as_of: int | None = None) -> Loaded:
    """Load everything that the scopes inherit, now or at a revision; of one type, or of all."""
    keys = sorted({_key(rung) for scope in scopes for rung in scope.ladder()})
    rows = _read(keys, resource_type, as_of)
    edition = Edition(rows[0][0], rows[0][1]) if rows[0][0] is not None else Edition()
    layers: dict[str, dict[Scope, Layer]] = defaultdict(dict)
    known = {key: Scope(key[1], key[0], key[2], key[3]) for key in keys}
    for _, _, _, _, kind, project, domain, workflow, launch_plan, attributes, *origin in rows:
        if kind is not None:
            scope = known[project, domain, workflow, launch_plan]
            layers[kind][scope] = Layer(scope, json.loads(attributes), Origin(*origin))
    return Loaded(layers, catalogue_of(edition), edition, frozenset(rows[0][2]), frozenset(rows[0][3]))


def _key(scope: Scope) -> tuple[str, str, str, str]:
    return (scope.project, scope.domain, scope.workflow, scope.launch_plan)


def _read(keys: Sequence[tuple[str, ...]], resource_type: str, as_of: int | None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            _FACTS_AND_ROWS.format(rows=_ROWS_NOW if as_of is None else _ROWS_THEN),
            {
                "projects": sorted({key[0] for key in keys if key[0]}),
                "domains": sorted({key[1] for key in keys if key[1]}),
                "p": [key[0] for key in keys],
                "d": [key[1] for key in keys],
                "w": [key[2] for key in keys],
                "l": [key[3] for key in keys],
                "type": resource_type,
                "as_of": as_of,
            },
        )
        return list(cursor.fetchall())


# Always at least one row: the facts, beside rows if there are any.
_FACTS_AND_ROWS = """
SELECT facts.*, layer.*
FROM (
    SELECT newest.revision, newest.made_at,
           ARRAY(SELECT id FROM overrides_project WHERE id = ANY(%(projects)s::text[])),
           ARRAY(SELECT id FROM overrides_domain WHERE id = ANY(%(domains)s::text[]))
    FROM (SELECT 1) AS one LEFT JOIN LATERAL (
        SELECT revision, made_at FROM overrides_revision
        WHERE everything AND (%(as_of)s::bigint IS NULL OR revision <= %(as_of)s::bigint)
        ORDER BY revision DESC LIMIT 1
    ) AS newest ON true
) AS facts LEFT JOIN LATERAL ({rows}) AS layer ON true
"""
# LATERAL: one probe of the unique index for each key, whatever the planner thinks of the number of rows.
_ROWS_NOW = """
    SELECT o.*
    FROM unnest(%(p)s::text[], %(d)s::text[], %(w)s::text[], %(l)s::text[]) AS k (p, d, w, l), LATERAL (
        SELECT resource_type, project, domain, workflow, launch_plan, attributes::text,
               id, version, revision, changed_by, changed_at, change_message, declared_in
        FROM overrides_override
        WHERE project = k.p AND domain = k.d AND workflow = k.w AND launch_plan = k.l
          AND (%(type)s = '' OR resource_type = %(type)s)
        OFFSET 0
    ) AS o
"""
_ROWS_THEN = """
    SELECT o.*
    FROM unnest(%(p)s::text[], %(d)s::text[], %(w)s::text[], %(l)s::text[]) AS k (p, d, w, l), LATERAL (
        SELECT * FROM (
            SELECT DISTINCT ON (resource_type)
                   resource_type, project, domain, workflow, launch_plan, attributes::text,
                   override_id, version, revision, changed_by, changed_at, change_message, declared_in
            FROM overrides_overrideversion
            WHERE project = k.p AND domain = k.d AND workflow = k.w AND launch_plan = k.l
              AND (%(type)s = '' OR resource_type = %(type)s) AND revision <= %(as_of)s::bigint
            ORDER BY resource_type, version DESC
        ) AS latest WHERE attributes IS NOT NULL
    ) AS o
"""
