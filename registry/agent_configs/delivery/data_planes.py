"""Data planes: their spec, their configuration, and approval of held bundles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from django.db import transaction

from controlplane.access import audit
from controlplane.access.models import Principal
from controlplane.access.team_models import Team
from controlplane.database.locks import lock_publishing
from controlplane.errors import FieldError, InvalidRequest, LimitReached, UnknownBundle, UnknownDataPlane
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from registry.agent_configs import serialization
from registry.agent_configs.bundles.rendering import as_config_map, as_json
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.event_types import BUNDLE_APPROVED, PLANE_CHANGED, PLANE_REGISTERED, PLANE_REMOVED
from registry.agent_configs.models import AgentConfigBundle, DataPlane
from registry.agent_configs.owners import owning_team
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.storage.team_parts import load_held_parts

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_RELEASE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,2}")
_MAX_APPROVALS = 200
# Kubernetes' limit for all data of a ConfigMap.
_CONFIG_MAP_BYTES = 1 << 20


class Format(StrEnum):
    YAML = "yaml"
    JSON = "json"
    CONFIG_MAP = "configmap"


@dataclass(frozen=True, slots=True)
class DataPlaneSpec:
    """A data plane as its operator specifies it. team: the owner's name; None for the platform."""

    team: str | None = None
    dialect: Dialect = Dialect.AGENT
    release: str = "1.16.0"
    enabled_plugins: tuple[str, ...] = ()
    platform: Mapping[str, Any] = field(default_factory=dict)
    placeholders: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    principal: str = ""
    stage: int = 0
    config_map: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServedConfiguration:
    """A configuration as it is served."""

    revision: int
    digest: str
    etag: str
    body: str


def get_plane(name: str) -> DataPlane:
    """Raises UnknownDataPlane."""
    plane = DataPlane.objects.select_related("team").filter(name=name).first()
    if plane is None:
        raise UnknownDataPlane(f"Data plane {name[:80]!r} does not exist.")
    return plane


@transaction.atomic
def put_plane(
    name: str, spec: DataPlaneSpec, *, actor: Actor, precondition: Precondition | None = None
) -> tuple[DataPlane, bool]:
    """Create or update a data plane, and compute its next bundle at once."""
    _check_spec(name, spec)
    lock_publishing()
    existing = DataPlane.objects.select_related("team").filter(name=name).first()
    check(precondition, existing.version if existing else None)
    before = show_spec(existing) if existing else None
    columns = _spec_columns(spec)
    if existing and before == columns:
        return existing, False
    plane = existing or DataPlane(name=name, version=0)
    plane.team = _get_owner(spec)
    for column in columns.keys() - {"team"}:
        setattr(plane, column, columns[column])
    plane.version += 1
    plane.save()
    kind = PLANE_CHANGED if existing else PLANE_REGISTERED
    _record(kind, plane, actor, before=before, after=columns)
    recompute_all(actor)
    return get_plane(name), existing is None


@transaction.atomic
def delete_plane(name: str, *, actor: Actor, precondition: Precondition | None = None) -> None:
    """Delete a data plane and its bundles. Raises UnknownDataPlane."""
    lock_publishing()
    plane = get_plane(name)
    check(precondition, plane.version)
    before = show_spec(plane)
    _record(PLANE_REMOVED, plane, actor, before=before, after=None)
    plane.delete()


@transaction.atomic
def approve(name: str, digest: str, *, actor: Actor) -> DataPlane:
    """Approve the held bundle or team change with this digest. Raises UnknownBundle if there is none."""
    lock_publishing()
    plane = get_plane(name)
    parts = (part.held for part in load_held_parts(plane))
    hold = next(
        (
            candidate
            for candidate in (plane.held, *parts)
            if candidate and digest and candidate["digest"] == digest
        ),
        None,
    )
    if hold is None:
        raise UnknownBundle(
            f"{name} has no held change with this digest. Read the data plane for current holds."
        )
    plane.approved = [*plane.approved, digest][-_MAX_APPROVALS:]
    plane.save(update_fields=["approved"])
    audit.record(
        BUNDLE_APPROVED,
        "data_plane",
        name,
        actor=actor,
        before={"held": hold["reasons"]},
        after={"digest": digest},
        data={"data_plane": name, "digest": digest},
        team_id=plane.bundle_owner_id,
    )
    recompute_all(actor)
    return get_plane(name)


def configuration_etag(plane: DataPlane, config_format: Format) -> str:
    """Return the ETag without loading the bundle: most requests get 304."""
    rows = AgentConfigBundle.objects.filter(data_plane=plane, revision=plane.active_revision)
    digest = rows.values_list("digest", flat=True).first()
    if digest is None:
        raise UnknownBundle(f"{plane.name} has no active bundle yet.")
    return bundle_etag(plane, digest, config_format)


def bundle_etag(plane: DataPlane, digest: str, config_format: Format) -> str:
    """Return the ETag of the active bundle, which has this digest."""
    return etag_of(digest, config_format, revision=plane.active_revision, version=plane.version)


def etag_of(digest: str, config_format: Format, *, revision: int, version: int) -> str:
    """Return the ETag of a bundle. version: of the data plane."""
    # The ConfigMap's name is part of the data plane's spec.
    more = f".v{version}" if config_format is Format.CONFIG_MAP else ""
    # With the revision: equal documents of two revisions are acknowledged and signed separately.
    return f'"{digest}.{config_format.value}.{revision}{more}"'


def get_configuration(plane: DataPlane, config_format: Format) -> ServedConfiguration:
    """Return the active configuration as it is served. Raises UnknownBundle, LimitReached."""
    etag = configuration_etag(plane, config_format)
    row = AgentConfigBundle.objects.get(data_plane=plane, revision=plane.active_revision)
    if config_format is Format.YAML:
        return ServedConfiguration(row.revision, row.digest, etag, row.text)
    if config_format is Format.CONFIG_MAP:
        _check_config_map(plane, row.text)
    bundle = serialization.bundle_from_json(row.body)
    if config_format is Format.JSON:
        return ServedConfiguration(row.revision, row.digest, etag, as_json(bundle))
    place = {"name": "flyte-agent-service", "namespace": "flyte", **plane.config_map}
    text = as_config_map(bundle, name=place["name"], namespace=place["namespace"], revision=row.revision)
    return ServedConfiguration(row.revision, row.digest, etag, text)


def _check_config_map(plane: DataPlane, text: str) -> None:
    """Raise LimitReached if too large: it cannot be split, because Flyte reads lists from one file only."""
    size = len(text.encode())
    if size > _CONFIG_MAP_BYTES:
        raise LimitReached(
            f"The configuration of {plane.name} has {size} bytes; Kubernetes accepts {_CONFIG_MAP_BYTES} in "
            "a ConfigMap. Read it with format=yaml and mount the file, or lower AGENT_CONFIGS_BUNDLE_BYTES."
        )


def get_bundle(name: str, revision: int) -> AgentConfigBundle:
    """Raises UnknownDataPlane, UnknownBundle."""
    rows = AgentConfigBundle.objects.filter(data_plane=get_plane(name), revision=revision)
    # The path may contain any number; revisions in Postgres have 32 bits.
    row = rows.first() if revision < 2**31 else None
    if row is None:
        raise UnknownBundle(f"{name} has no revision {revision}.")
    return row


def show_spec(plane: DataPlane) -> dict[str, Any]:
    """Return the spec as its operator set it."""
    columns = {name: getattr(plane, name) for name in _spec_columns(DataPlaneSpec())}
    return columns | {"team": plane.team.slug if plane.team else None}


def find_team(name: str) -> str | None:
    """Return the team that owns the data plane with this name; None for the platform, or none yet."""
    return DataPlane.objects.filter(name=name).values_list("team__slug", flat=True).first()


def _get_owner(spec: DataPlaneSpec) -> Team | None:
    """Return the owner. Raises InvalidRequest if it does not exist."""
    if spec.team is None:
        return None
    team = owning_team(spec.team)
    if team is None:
        message = f"Unknown team {spec.team[:80]!r}."
        raise InvalidRequest(message, errors=[FieldError("/team", "unknown_team", message)])
    return team


def _spec_columns(spec: DataPlaneSpec) -> dict[str, Any]:
    lists = {name: list(value) for name, value in asdict(spec).items() if isinstance(value, tuple)}
    return {
        **asdict(spec),
        **lists,
        "dialect": spec.dialect.value,
        "platform": dict(spec.platform),
        "config_map": dict(spec.config_map),
    }


def _check_spec(name: str, spec: DataPlaneSpec) -> None:
    errors = []
    if not _NAME.fullmatch(name):
        message = "A data plane's name must have lowercase letters, digits and inner hyphens, at most 63."
        errors.append(FieldError("/name", "malformed", message))
    if not _RELEASE.fullmatch(spec.release):
        errors.append(FieldError("/release", "malformed", "Must be a release of Flyte, such as 1.16.8."))
    if spec.principal and not Principal.objects.filter(name=spec.principal).exists():
        message = f"Unknown principal {spec.principal!r}."
        errors.append(FieldError("/principal", "unknown_principal", message))
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)


def _record(
    event_type: EventType,
    plane: DataPlane,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    audit.record(
        event_type,
        "data_plane",
        plane.name,
        actor=actor,
        before=before,
        after=after,
        data={"data_plane": plane.name},
        team_id=plane.team_id,
    )
