"""Load the overrides on the ladders of scopes: one query for any number of scopes.

The query also returns the catalogue version and the projects and domains that exist. So the result is
consistent, although it comes from several tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from django.db import connection

from controlplane.scopes import Scope
from overrides.loading.catalogue_cache import CatalogueVersion, catalogue_of
from overrides.loading.platform_defaults import PlatformDefaults
from overrides.resolution.merging import Attributes
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
    """The result of the one query. layers: by scope, then by type."""

    layers: Mapping[Scope, Mapping[str, Layer]]
    catalogue: Catalogue
    catalogue_version: CatalogueVersion
    projects: frozenset[str]
    domains: frozenset[str]

    def of(self, resource_type: ResourceType, target: Scope, defaults: PlatformDefaults) -> list[Layer]:
        """Return the layers of one type that the target inherits, platform defaults first."""
        return [
            *default_layers(resource_type, target, defaults),
            *(rung[resource_type.name] for rung in self.rungs(target) if resource_type.name in rung),
        ]

    def rungs(self, target: Scope) -> list[Mapping[str, Layer]]:
        """Return what is set on each rung of the target's ladder, by type, least specific first."""
        return [self.layers[scope] for scope in target.ladder() if scope in self.layers]


def default_layers(resource_type: ResourceType, target: Scope, defaults: PlatformDefaults) -> list[Layer]:
    """Return the platform defaults: those of the type, then those of the operator's file."""
    return [layer for layer in all_default_layers(resource_type, defaults) if layer.scope.covers(target)]


def all_default_layers(resource_type: ResourceType, defaults: PlatformDefaults) -> list[Layer]:
    """Return the platform defaults of all scopes, in the order of `default_layers`."""
    from_file = LayerOrigin(changed_by="platform", declared_in=defaults.path)
    layers = [
        Layer(scope, attributes, from_file, is_default=True)
        for scope, attributes in defaults.of(resource_type.name)
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
    facts = next(_FACTS.decode(row) for row in rows if row[0] == "{")
    version = (
        CatalogueVersion() if facts.revision is None else CatalogueVersion(facts.revision, facts.made_at)
    )
    layers: dict[Scope, dict[str, Layer]] = {}
    # Attributes are never changed in place, so equal texts share one document.
    documents: dict[bytes, Attributes] = {}
    for number, set_there in (_RUNG.decode(row) for row in rows if row[0] == "["):
        key = keys[number - 1]
        scope = Scope(key[1], key[0], key[2], key[3])
        layers[scope] = {row.resource_type: _layer_of(scope, row, documents) for row in set_there}
    return LoadedLayers(
        layers, catalogue_of(version), version, frozenset(facts.projects), frozenset(facts.domains)
    )


class _Facts(msgspec.Struct):
    revision: int | None
    made_at: datetime | None
    projects: list[str]
    domains: list[str]


class _Row(msgspec.Struct, array_like=True):
    resource_type: str
    attributes: msgspec.Raw
    override_id: UUID
    version: int
    revision: int
    changed_by: str
    changed_at: datetime
    change_message: str
    declared_in: str


_FACTS = msgspec.json.Decoder(_Facts)
_RUNG = msgspec.json.Decoder(tuple[int, list[_Row]])


def _layer_of(scope: Scope, row: _Row, documents: dict[bytes, Attributes]) -> Layer:
    text = bytes(row.attributes)
    if (document := documents.get(text)) is None:
        document = documents[text] = json.loads(text)
    origin = LayerOrigin(
        row.override_id,
        row.version,
        row.revision,
        row.changed_by,
        row.changed_at,
        row.change_message,
        row.declared_in,
    )
    return Layer(scope, document, origin)


def _key(scope: Scope) -> tuple[str, str, str, str]:
    return (scope.project, scope.domain, scope.workflow, scope.launch_plan)


def _read(keys: Sequence[tuple[str, ...]], resource_type: str, as_of: int | None) -> list[str]:
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
        return [row[0] for row in cursor.fetchall()]


# The facts as an object, then one array for each rung where something is set: Postgres and msgspec write and
# read a row as JSON in a fraction of the time that a column of its own for each value takes.
_LAYERS = """
SELECT json_build_object(
    'revision', newest.revision,
    'made_at', newest.made_at,
    'projects', ARRAY(SELECT id FROM overrides_project WHERE id = ANY(%(projects)s::text[])),
    'domains', ARRAY(SELECT id FROM overrides_domain WHERE id = ANY(%(domains)s::text[]))
)::text
FROM (SELECT 1) AS single_row LEFT JOIN LATERAL (
    SELECT revision, made_at FROM overrides_revision
    WHERE everything AND (%(as_of)s::bigint IS NULL OR revision <= %(as_of)s::bigint)
    ORDER BY revision DESC LIMIT 1
) AS newest ON true
UNION ALL
SELECT json_build_array(k.n, o.rows)::text
FROM unnest(%(p)s::text[], %(d)s::text[], %(w)s::text[], %(l)s::text[]) WITH ORDINALITY AS k (p, d, w, l, n),
LATERAL ({rows}) AS o
WHERE o.rows IS NOT NULL
"""
# LATERAL: one probe of the unique index for each key, whatever number of rows the planner estimates.
_ROWS_NOW = """
    SELECT json_agg(json_build_array(resource_type, attributes, id, version, revision, changed_by, changed_at,
                                     change_message, declared_in)) AS rows
    FROM overrides_override
    WHERE project = k.p AND domain = k.d AND workflow = k.w AND launch_plan = k.l
      AND (%(type)s = '' OR resource_type = %(type)s)
    OFFSET 0
"""
_ROWS_AS_OF = """
    SELECT json_agg(json_build_array(resource_type, attributes, override_id, version, revision, changed_by,
                                     changed_at, change_message, declared_in)) AS rows
    FROM (
        SELECT DISTINCT ON (resource_type) * FROM overrides_overrideversion
        WHERE project = k.p AND domain = k.d AND workflow = k.w AND launch_plan = k.l
          AND (%(type)s = '' OR resource_type = %(type)s) AND revision <= %(as_of)s::bigint
        ORDER BY resource_type, version DESC
    ) AS latest WHERE attributes IS NOT NULL
"""
