"""Load the overrides on the ladders of scopes: one query for any number of scopes.

The query also returns the catalogue version and the projects and domains that exist. So the result is
consistent, although it comes from several tables.
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
from overrides.loading.catalogue_cache import CatalogueVersion, catalogue_of
from overrides.loading.platform_defaults import PlatformDefaults
from overrides.resolution.resolve import Layer
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import Catalogue
from overrides.resource_types.flyte_defaults import CODE_DEFAULTS


@dataclass(frozen=True, slots=True)
class LayerOrigin:
    """Who set a layer, when, why and in which version. override_id: None for a platform default."""

    override_id: UUID | None = None
    version: int = 0
    revision: int = 0
    changed_by: str = "platform"
    changed_at: datetime | None = None
    change_message: str = ""
    declared_in: str = ""


@dataclass(frozen=True, slots=True)
class LoadedLayers:
    """The result of the one query. layers: by type, then by scope."""

    layers: Mapping[str, Mapping[Scope, Layer]]
    catalogue: Catalogue
    catalogue_version: CatalogueVersion
    projects: frozenset[str]
    domains: frozenset[str]

    def of(self, resource_type: ResourceType, target: Scope, defaults: PlatformDefaults) -> list[Layer]:
        """Return the layers of one type that the target inherits, platform defaults first."""
        stored = self.layers.get(resource_type.name, {})
        rungs = (stored.get(scope) for scope in target.ladder())
        return [
            *default_layers(resource_type, target, defaults),
            *(layer for layer in rungs if layer is not None),
        ]


def default_layers(resource_type: ResourceType, target: Scope, defaults: PlatformDefaults) -> list[Layer]:
    """Return the platform defaults: those of the type, then those of the operator's file."""
    from_file = LayerOrigin(changed_by="platform", declared_in=defaults.path)
    layers = [
        Layer(scope, attributes, from_file, is_default=True)
        for scope, attributes in defaults.of(resource_type.name)
        if scope.covers(target)
    ]
    if not resource_type.defaults:
        return layers
    return [Layer(Scope(), resource_type.defaults, _OF_TYPE, is_default=True), *layers]


_OF_TYPE = LayerOrigin(changed_by="resource type")
# Below the operator's file, when resolving by FlyteAdmin's rules.
FLYTEADMIN_LAYERS = {
    name: Layer(Scope(), attributes, LayerOrigin(changed_by="FlyteAdmin"), is_default=True)
    for name, attributes in CODE_DEFAULTS.items()
}


def load_layers(
    scopes: Iterable[Scope], *, resource_type: str = "", as_of: int | None = None
) -> LoadedLayers:
    """Load the layers that the scopes inherit, now or at a revision; of one type, or of all types."""
    keys = sorted({_key(rung) for scope in scopes for rung in scope.ladder()})
    rows = _read(keys, resource_type, as_of)
    version = CatalogueVersion(rows[0][0], rows[0][1]) if rows[0][0] is not None else CatalogueVersion()
    layers: dict[str, dict[Scope, Layer]] = defaultdict(dict)
    scope_of = {key: Scope(key[1], key[0], key[2], key[3]) for key in keys}
    for _, _, _, _, type_name, project, domain, workflow, launch_plan, attributes, *origin in rows:
        if type_name is not None:
            scope = scope_of[project, domain, workflow, launch_plan]
            layers[type_name][scope] = Layer(scope, json.loads(attributes), LayerOrigin(*origin))
    return LoadedLayers(layers, catalogue_of(version), version, frozenset(rows[0][2]), frozenset(rows[0][3]))


def _key(scope: Scope) -> tuple[str, str, str, str]:
    return (scope.project, scope.domain, scope.workflow, scope.launch_plan)


def _read(keys: Sequence[tuple[str, ...]], resource_type: str, as_of: int | None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            _LAYERS.format(rows=_ROWS_NOW if as_of is None else _ROWS_AS_OF),
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


# Always at least one row: the catalogue version, projects and domains, joined with the layers if any.
_LAYERS = """
SELECT facts.*, layer.*
FROM (
    SELECT newest.revision, newest.made_at,
           ARRAY(SELECT id FROM overrides_project WHERE id = ANY(%(projects)s::text[])),
           ARRAY(SELECT id FROM overrides_domain WHERE id = ANY(%(domains)s::text[]))
    FROM (SELECT 1) AS single_row LEFT JOIN LATERAL (
        SELECT revision, made_at FROM overrides_revision
        WHERE everything AND (%(as_of)s::bigint IS NULL OR revision <= %(as_of)s::bigint)
        ORDER BY revision DESC LIMIT 1
    ) AS newest ON true
) AS facts LEFT JOIN LATERAL ({rows}) AS layer ON true
"""
# LATERAL: one probe of the unique index for each key, whatever number of rows the planner estimates.
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
_ROWS_AS_OF = """
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
