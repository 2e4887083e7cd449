"""Load everything that a recompute depends on: per data plane what is its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from registry.agent_configs import serialization
from registry.agent_configs.bundles.bundle import Bundle, Input
from registry.agent_configs.bundles.compute import World
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.grants import Grant, Mode, Ownership, Release
from registry.agent_configs.claims.history import Standing
from registry.agent_configs.documents.content import Content
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import ClaimKey, ClaimKind, DocumentId, Published
from registry.agent_configs.models import (
    AgentConfigBundle,
    AgentConfigGeneration,
    AgentConfigGrant,
    AgentConfigQuarantine,
    AgentConfigRelease,
    ClaimRecord,
    DataPlane,
)
from registry.agent_configs.reachability.policies import gate_new
from registry.agent_configs.storage import policies
from registry.agent_configs.storage.load_documents import Document
from registry.agent_configs.storage.stages import earlier_planes
from registry.agent_configs.storage.team_parts import load_parts, takes


@dataclass(frozen=True, slots=True)
class Instead:
    """A document that one data plane is not given as it is. content: of the generation served instead."""

    reason: str
    message: str
    generation: int
    content: Content | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """One data plane's world, and what its statuses need besides.

    applied: what took part in the bundle that the data plane works with.
    """

    world: World
    documents: tuple[Document, ...]
    exceptions: Mapping[DocumentId, Instead]
    applied: frozenset[Input] = frozenset()


def load_ownership() -> Ownership:
    grants = AgentConfigGrant.objects.values_list("team", "pattern", "kind").order_by("id")
    releases = AgentConfigRelease.objects.values_list("team", "kind", "name")
    return Ownership(
        Mode(settings.AGENT_CONFIGS_MODE),
        tuple(Grant(team, pattern, ClaimKind(kind)) for team, pattern, kind in grants),
        frozenset(Release(team, ClaimKind(kind), name) for team, kind, name in releases),
    )


def load_world(
    plane: DataPlane, documents: Collection[Document], ownership: Ownership, *, now: datetime
) -> Loaded:
    """What this data plane is given, and may be."""
    taking_part = tuple(one for one in documents if takes(plane, one.published.team))
    active = load_bundle(plane, plane.active_revision)
    exceptions = {
        **_unreachable(taking_part, active),
        **_trial(plane, taking_part),
        **_quarantined(plane, taking_part, now=now),
    }
    world = World(
        [one.published for one in taking_part],
        target_of(plane),
        ownership,
        load_history(plane),
        policies.policy(),
        policies.gates(),
        active,
        frozenset(plane.approved),
        frozenset(plane.rejected),
        policies.grace(),
        earlier_planes(plane),
        load_parts(plane, taking_part, active),
        {one.id: _as_given(one, exceptions[one.id]) for one in taking_part if one.id in exceptions},
    )
    return Loaded(world, taking_part, exceptions, _applied(plane, world.active))


def load_contest(
    plane: DataPlane,
    documents: Collection[Document],
    ownership: Ownership,
    *,
    names: Collection[str],
    now: datetime,
) -> World:
    """As much of this data plane's world as a decision about these names needs; of bundles nothing."""
    taking_part = tuple(one for one in documents if takes(plane, one.published.team))
    exceptions = {**_trial(plane, taking_part), **_quarantined(plane, taking_part, now=now)}
    return World(
        [_as_given(one, exceptions.get(one.id)) for one in taking_part],
        target_of(plane),
        ownership,
        load_history(plane, names),
        policies.policy(),
        grace=policies.grace(),
    )


def load_bundle(plane: DataPlane, revision: int) -> Bundle | None:
    if not revision:
        return None
    body = AgentConfigBundle.objects.filter(data_plane=plane, revision=revision).values_list(
        "body", flat=True
    )
    said = body.first()
    return serialization.read_bundle(said) if said else None


def _applied(plane: DataPlane, active: Bundle | None) -> frozenset[Input]:
    is_active = plane.applied_revision == plane.active_revision
    applied = active if is_active else load_bundle(plane, plane.applied_revision)
    return frozenset(applied.inputs) if applied else frozenset()


def load_history(
    plane: DataPlane, names: Collection[str] | None = None
) -> dict[tuple[str, ClaimKey], Standing]:
    """names: of these alone; None: of all."""
    found = ClaimRecord.objects.filter(data_plane=plane)
    rows = (found if names is None else found.filter(name__in=names)).values_list(*_CLAIM)
    return {
        (team, ClaimKey(ClaimKind(kind), name, version, pin)): Standing(
            DocumentId(source, team, document), first, established, gone
        )
        for team, kind, name, version, pin, source, document, first, established, gone in rows.iterator(
            chunk_size=5000
        )
    }


def target_of(plane: DataPlane) -> Target:
    return Target(
        Dialect(plane.dialect),
        tuple(int(part) for part in plane.release.split(".")),
        tuple(plane.enabled_plugins),
        plane.platform,
        tuple(plane.placeholders),
        *policies.timeouts(),
    )


def rows_of(documents: Iterable[Document], wanted: Iterable[DocumentId]) -> dict[DocumentId, Document]:
    names = set(wanted)
    return {one.id: one for one in documents if one.id in names}


_CLAIM = (
    "team",
    "kind",
    "name",
    "version",
    "pin",
    "source",
    "document",
    "first_accepted_at",
    "established",
    "gone_at",
)


def _as_given(one: Document, instead: Instead | None) -> Published:
    if instead is None:
        return one.published
    return replace(one.published, content=instead.content, generation=instead.generation or one.generation)


def _quarantined(
    plane: DataPlane, documents: Iterable[Document], *, now: datetime
) -> dict[DocumentId, Instead]:
    # What a data plane of an earlier stage cannot take does not go on to later ones.
    earlier = Q(data_plane__stage__lt=plane.stage, reason="rejected")
    here = Q(data_plane=None) | Q(data_plane=plane) | earlier
    rows = AgentConfigQuarantine.objects.filter(here).filter(Q(until=None) | Q(until__gt=now))
    by_key = {one.key: one for one in documents}
    # Those of all data planes last, and its own before them: they count more.
    rows_here = sorted(
        (row for row in rows if row.document_id in by_key),
        key=lambda row: (not row.data_plane_id, row.data_plane_id == plane.name),
    )
    wanted = {(row.document_id, row.fallback) for row in rows_here if row.fallback}
    contents = _generations(wanted)
    found = {}
    for row in rows_here:
        content = contents.get((row.document_id, row.fallback))
        fallback = row.fallback if content else 0
        found[by_key[row.document_id].id] = Instead(row.reason, row.message, fallback, content)
    return found


def _unreachable(documents: Iterable[Document], active: Bundle | None) -> dict[DocumentId, Instead]:
    """New documents whose agents do not answer, where the policy keeps them out. What is served stays."""
    if not gate_new():
        return {}
    served = active.documents() if active else frozenset()
    return {
        one.id: Instead("unreachable", one.probe.message, 0, None)
        for one in documents
        if one.id not in served
        and one.probe
        and (one.probe.reachable is False or one.probe.reason == "NotProbed")
    }


def _trial(plane: DataPlane, documents: Iterable[Document]) -> dict[DocumentId, Instead]:
    """While a culprit is searched, suspects that are not being tried are given as they were applied."""
    if not plane.trial:
        return {}
    out = {serialization.read_document_id(one) for one in plane.trial["suspects"]}
    out -= {serialization.read_document_id(one) for one in plane.trial["tried"]}
    applied = load_bundle(plane, plane.applied_revision)
    generations = {one.document: one.generation for one in applied.inputs} if applied else {}
    suspects = rows_of(documents, out)
    keys = {one.key: one.id for one in suspects.values() if one.key}
    contents = _generations({(key, generations.get(name, 0)) for key, name in keys.items()})
    found = {}
    for key, name in keys.items():
        number = generations.get(name, 0)
        content = contents.get((key, number))
        message = "The data plane rejected a configuration; the document to blame is being searched."
        found[name] = Instead("suspected", message, number if content else 0, content)
    return found


def _generations(wanted: set[tuple[UUID, int]]) -> dict[tuple[UUID, int], Content]:
    if not wanted:
        return {}
    keys = {key for key, _ in wanted}
    rows = AgentConfigGeneration.objects.filter(document_id__in=keys, number__in={n for _, n in wanted})
    return {
        (key, number): serialization.read_content(content)
        for key, number, content in rows.values_list("document_id", "number", "content")
    }
