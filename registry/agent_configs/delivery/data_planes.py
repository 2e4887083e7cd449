"""Data planes: how they read, what they are served, and the word that lets a held bundle go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from django.db import transaction

from controlplane.access import audit
from controlplane.access.models import Principal
from controlplane.database.locks import lock_publishing
from controlplane.errors import FieldError, InvalidRequest, LimitReached, UnknownBundle, UnknownDataPlane
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition, check
from registry.agent_configs import serialization
from registry.agent_configs.bundles.rendering import as_config_map, as_json
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.event_types import BUNDLE_APPROVED, PLANE_CHANGED, PLANE_REGISTERED, PLANE_REMOVED
from registry.agent_configs.models import AgentConfigBundle, DataPlane
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.storage.team_parts import parts_held

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_RELEASE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){1,2}")
_APPROVALS_KEPT = 200
# Kubernetes' limit of all data of a ConfigMap together.
_CONFIG_MAP_BYTES = 1 << 20


class Format(StrEnum):
    YAML = "yaml"
    JSON = "json"
    CONFIG_MAP = "configmap"


@dataclass(frozen=True, slots=True)
class Described:
    """A data plane as its operator describes it."""

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
class Served:
    """A configuration as it goes over the wire."""

    revision: int
    digest: str
    etag: str
    body: str


def get_plane(name: str) -> DataPlane:
    """Raises UnknownDataPlane."""
    found = DataPlane.objects.filter(name=name).first()
    if found is None:
        raise UnknownDataPlane(f"There is no data plane {name[:80]!r}.")
    return found


@transaction.atomic
def put_plane(
    name: str, wanted: Described, *, actor: Actor, precondition: Precondition | None = None
) -> tuple[DataPlane, bool]:
    """Register a data plane or describe it otherwise; its next bundle is made at once."""
    _check(name, wanted)
    lock_publishing()
    standing = DataPlane.objects.filter(name=name).first()
    check(precondition, standing.version if standing else None)
    before = described(standing) if standing else None
    said = _columns(wanted)
    if standing and before == said:
        return standing, False
    plane = standing or DataPlane(name=name, version=0)
    for column, value in said.items():
        setattr(plane, column, value)
    plane.version += 1
    plane.save()
    kind = PLANE_CHANGED if standing else PLANE_REGISTERED
    _record(kind, name, actor, before=before, after=said)
    recompute_all(actor)
    return get_plane(name), standing is None


@transaction.atomic
def delete_plane(name: str, *, actor: Actor, precondition: Precondition | None = None) -> None:
    """Serve a data plane no more, and forget its bundles. Raises UnknownDataPlane."""
    lock_publishing()
    plane = get_plane(name)
    check(precondition, plane.version)
    before = described(plane)
    plane.delete()
    _record(PLANE_REMOVED, name, actor, before=before, after=None)


@transaction.atomic
def approve(name: str, digest: str, *, actor: Actor) -> DataPlane:
    """Approve exactly the bundle, or the team's change, that is held. Raises UnknownBundle if none is."""
    lock_publishing()
    plane = get_plane(name)
    parts = (one.held for one in parts_held(plane))
    held = next((one for one in (plane.held, *parts) if one and digest and one["digest"] == digest), None)
    if held is None:
        raise UnknownBundle(f"Nothing of {name} with this digest is held. Read the data plane for what is.")
    plane.approved = [*plane.approved, digest][-_APPROVALS_KEPT:]
    plane.save(update_fields=["approved"])
    audit.record(
        BUNDLE_APPROVED,
        "data_plane",
        name,
        actor=actor,
        before={"held": held["reasons"]},
        after={"digest": digest},
        data={"data_plane": name, "digest": digest},
    )
    recompute_all(actor)
    return get_plane(name)


def get_followed_plane(name: str, caller: Caller) -> DataPlane:
    """The data plane, if the caller is its principal or administers all of them.

    Raises UnknownDataPlane otherwise, whether it exists or not.
    """
    found = DataPlane.objects.filter(name=name).first()
    if found is None or not _may_follow(caller, found):
        raise UnknownDataPlane(
            f"There is no data plane {name[:80]!r} whose principal is {caller.name}. "
            "An administrator can set the `principal` of a data plane."
        )
    return found


def _may_follow(caller: Caller, plane: DataPlane) -> bool:
    is_principal = caller.principal_id is not None and plane.principal == caller.name
    return is_principal or caller.verdict(Action.AGENT_CONFIG_RULE).allowed


def etag_of(plane: DataPlane, wanted: Format) -> str:
    """Without reading the bundle: most questions are answered with 304."""
    rows = AgentConfigBundle.objects.filter(data_plane=plane, revision=plane.active_revision)
    digest = rows.values_list("digest", flat=True).first()
    if digest is None:
        raise UnknownBundle(f"No bundle of {plane.name} is in force yet.")
    return etag_of_bundle(plane, digest, wanted)


def etag_of_bundle(plane: DataPlane, digest: str, wanted: Format) -> str:
    """The bundle with this digest is the one in force."""
    # A ConfigMap is named as the data plane is described.
    more = f".v{plane.version}" if wanted is Format.CONFIG_MAP else ""
    # With the revision: equal documents of two revisions are acknowledged, and signed, apart.
    return f'"{digest}.{wanted.value}.{plane.active_revision}{more}"'


def configuration(plane: DataPlane, wanted: Format) -> Served:
    """What is in force, as it is served. Raises UnknownBundle, LimitReached."""
    etag = etag_of(plane, wanted)
    row = AgentConfigBundle.objects.get(data_plane=plane, revision=plane.active_revision)
    if wanted is Format.YAML:
        return Served(row.revision, row.digest, etag, row.text)
    if wanted is Format.CONFIG_MAP:
        _check_config_map(plane, row.text)
    bundle = serialization.read_bundle(row.body)
    if wanted is Format.JSON:
        return Served(row.revision, row.digest, etag, as_json(bundle))
    place = {"name": "flyte-agent-service", "namespace": "flyte", **plane.config_map}
    text = as_config_map(bundle, name=place["name"], namespace=place["namespace"], revision=row.revision)
    return Served(row.revision, row.digest, etag, text)


def _check_config_map(plane: DataPlane, text: str) -> None:
    """Not split: Flyte reads lists of one file only, so agents in other files would lose their task types."""
    size = len(text.encode())
    if size > _CONFIG_MAP_BYTES:
        raise LimitReached(
            f"The configuration of {plane.name} has {size} bytes; Kubernetes accepts {_CONFIG_MAP_BYTES} in "
            "a ConfigMap. Read it with format=yaml and mount the file, or lower AGENT_CONFIGS_BUNDLE_BYTES."
        )


def get_bundle(name: str, revision: int) -> AgentConfigBundle:
    """Raises UnknownDataPlane, UnknownBundle."""
    rows = AgentConfigBundle.objects.filter(data_plane=get_plane(name), revision=revision)
    # A path may say any number; Postgres counts revisions in 32 bits.
    found = rows.first() if revision < 2**31 else None
    if found is None:
        raise UnknownBundle(f"There is no revision {revision} of {name}.")
    return found


def described(plane: DataPlane) -> dict[str, Any]:
    """As its operator described it."""
    return {name: getattr(plane, name) for name in _columns(Described())}


def _columns(wanted: Described) -> dict[str, Any]:
    lists = {name: list(value) for name, value in asdict(wanted).items() if isinstance(value, tuple)}
    return {
        **asdict(wanted),
        **lists,
        "dialect": wanted.dialect.value,
        "platform": dict(wanted.platform),
        "config_map": dict(wanted.config_map),
    }


def _check(name: str, wanted: Described) -> None:
    found = []
    if not _NAME.fullmatch(name):
        message = "A data plane's name has small letters, digits and inner hyphens, 63 at most."
        found.append(FieldError("/name", "malformed", message))
    if not _RELEASE.fullmatch(wanted.release):
        found.append(FieldError("/release", "malformed", "Flyte's release, such as 1.16.8."))
    if wanted.principal and not Principal.objects.filter(name=wanted.principal).exists():
        message = f"There is no principal {wanted.principal!r}."
        found.append(FieldError("/principal", "unknown_principal", message))
    if found:
        raise InvalidRequest(found[0].message, errors=found)


def _record(
    event_type: EventType,
    name: str,
    actor: Actor,
    *,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    data = {"data_plane": name}
    audit.record(event_type, "data_plane", name, actor=actor, before=before, after=after, data=data)
