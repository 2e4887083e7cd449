"""Load the inputs of a recompute for one data plane."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from registry.agent_configs import serialization
from registry.agent_configs.bundles.bundle import Bundle, BundleInput
from registry.agent_configs.bundles.compute import RecomputeInputs
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.claims.grants import Grant, Ownership, OwnershipMode, Pin, Release
from registry.agent_configs.claims.history import RememberedClaim
from registry.agent_configs.documents.content import Content
from registry.agent_configs.documents.dialects import Dialect
from registry.agent_configs.documents.published import ClaimKey, ClaimKind, DocumentId, PublishedDocument
from registry.agent_configs.models import (
    AgentConfigBundle,
    AgentConfigGeneration,
    AgentConfigGrant,
    AgentConfigQuarantine,
    AgentConfigRelease,
    ClaimRecord,
    DataPlane,
)
from registry.agent_configs.pin_models import AgentConfigPin
from registry.agent_configs.reachability.policies import new_documents_wait
from registry.agent_configs.storage import policies
from registry.agent_configs.storage.load_documents import LoadedDocument
from registry.agent_configs.storage.stages import find_unsettled_earlier_planes
from registry.agent_configs.storage.team_parts import accepts_team, load_parts


@dataclass(frozen=True, slots=True)
class Substitution:
    """Why one data plane does not get a document's latest generation. content: of the one served instead."""

    reason: str
    message: str
    generation: int
    content: Content | None


@dataclass(frozen=True, slots=True)
class LoadedInputs:
    """One data plane's inputs, with further data for its document statuses.

    applied: the documents of the bundle that the data plane applied.
    """

    inputs: RecomputeInputs
    documents: tuple[LoadedDocument, ...]
    substitutions: Mapping[DocumentId, Substitution]
    applied: frozenset[BundleInput] = frozenset()


def load_ownership() -> Ownership:
    grants = AgentConfigGrant.objects.values_list("team", "pattern", "kind").order_by("id")
    pins = AgentConfigPin.objects.in_effect()
    releases = AgentConfigRelease.objects.values_list("team", "kind", "name")
    return Ownership(
        OwnershipMode(settings.AGENT_CONFIGS_MODE),
        tuple(Grant(team, pattern, ClaimKind(kind)) for team, pattern, kind in grants),
        frozenset(Release(team, ClaimKind(kind), name) for team, kind, name in releases),
        frozenset(Pin(row.team, ClaimKind(row.kind), row.name) for row in pins),
    )


def load_inputs(
    plane: DataPlane, documents: Collection[LoadedDocument], ownership: Ownership, *, now: datetime
) -> LoadedInputs:
    """Load all inputs of the data plane's recompute."""
    accepted = tuple(document for document in documents if accepts_team(plane, document.published.team))
    active = load_bundle(plane, plane.active_revision)
    substitutions = {
        **_find_unreachable(accepted, active),
        **_find_suspected(plane, accepted),
        **_find_quarantined(plane, accepted, now=now),
    }
    inputs = RecomputeInputs(
        [document.published for document in accepted],
        build_target(plane),
        ownership,
        load_history(plane),
        policies.claim_policy(),
        policies.gate_limits(),
        active,
        frozenset(plane.approved),
        frozenset(plane.rejected),
        policies.claim_grace(),
        find_unsettled_earlier_planes(plane),
        load_parts(plane, accepted, active),
        {
            document.id: _substitute(document, substitutions[document.id])
            for document in accepted
            if document.id in substitutions
        },
    )
    return LoadedInputs(inputs, accepted, substitutions, _load_applied_inputs(plane, inputs.active))


def load_claim_inputs(
    plane: DataPlane,
    documents: Collection[LoadedDocument],
    ownership: Ownership,
    *,
    names: Collection[str],
    now: datetime,
) -> RecomputeInputs:
    """Load only the inputs that a decision about these names needs, without bundles."""
    accepted = tuple(document for document in documents if accepts_team(plane, document.published.team))
    substitutions = {**_find_suspected(plane, accepted), **_find_quarantined(plane, accepted, now=now)}
    return RecomputeInputs(
        [_substitute(document, substitutions.get(document.id)) for document in accepted],
        build_target(plane),
        ownership,
        load_history(plane, names),
        policies.claim_policy(),
        grace=policies.claim_grace(),
    )


def load_bundle(plane: DataPlane, revision: int) -> Bundle | None:
    if not revision:
        return None
    body = AgentConfigBundle.objects.filter(data_plane=plane, revision=revision).values_list(
        "body", flat=True
    )
    data = body.first()
    return serialization.bundle_from_json(data) if data else None


def _load_applied_inputs(plane: DataPlane, active: Bundle | None) -> frozenset[BundleInput]:
    is_active = plane.applied_revision == plane.active_revision
    applied = active if is_active else load_bundle(plane, plane.applied_revision)
    return frozenset(applied.inputs) if applied else frozenset()


def load_history(
    plane: DataPlane, names: Collection[str] | None = None
) -> dict[tuple[str, ClaimKey], RememberedClaim]:
    """Load the history of claims. names: only of these; None: of all."""
    records = ClaimRecord.objects.filter(data_plane=plane)
    rows = (records if names is None else records.filter(name__in=names)).values_list(*_CLAIM_FIELDS)
    return {
        (team, ClaimKey(ClaimKind(kind), name, version, pin)): RememberedClaim(
            DocumentId(source, team, document), first, established, gone
        )
        for team, kind, name, version, pin, source, document, first, established, gone in rows.iterator(
            chunk_size=5000
        )
    }


def build_target(plane: DataPlane) -> Target:
    return Target(
        Dialect(plane.dialect),
        tuple(int(part) for part in plane.release.split(".")),
        tuple(plane.enabled_plugins),
        plane.platform,
        tuple(plane.placeholders),
        *policies.default_timeouts(),
    )


def select_documents(
    documents: Iterable[LoadedDocument], document_ids: Iterable[DocumentId]
) -> dict[DocumentId, LoadedDocument]:
    names = set(document_ids)
    return {document.id: document for document in documents if document.id in names}


_CLAIM_FIELDS = (
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


def _substitute(document: LoadedDocument, substitution: Substitution | None) -> PublishedDocument:
    if substitution is None:
        return document.published
    return replace(
        document.published,
        content=substitution.content,
        generation=substitution.generation or document.generation,
    )


def _find_quarantined(
    plane: DataPlane, documents: Iterable[LoadedDocument], *, now: datetime
) -> dict[DocumentId, Substitution]:
    # A document that a data plane of an earlier stage rejected does not reach later stages.
    earlier = Q(data_plane__stage__lt=plane.stage, reason="rejected")
    here = Q(data_plane=None) | Q(data_plane=plane) | earlier
    rows = AgentConfigQuarantine.objects.filter(here).filter(Q(until=None) | Q(until__gt=now))
    by_key = {document.key: document for document in documents}
    # The last one wins: those of all data planes come last, and the data plane's own before them.
    rows_here = sorted(
        (row for row in rows if row.document_id in by_key),
        key=lambda row: (not row.data_plane_id, row.data_plane_id == plane.name),
    )
    fallbacks = {(row.document_id, row.fallback) for row in rows_here if row.fallback}
    contents = _load_generations(fallbacks)
    substitutions = {}
    for row in rows_here:
        content = contents.get((row.document_id, row.fallback))
        fallback = row.fallback if content else 0
        substitutions[by_key[row.document_id].id] = Substitution(row.reason, row.message, fallback, content)
    return substitutions


def _find_unreachable(
    documents: Iterable[LoadedDocument], active: Bundle | None
) -> dict[DocumentId, Substitution]:
    """New documents whose agents do not answer, where the policy keeps them out. What is served stays."""
    if not new_documents_wait():
        return {}
    served = active.documents() if active else frozenset()
    return {
        document.id: Substitution("unreachable", document.probe.message, 0, None)
        for document in documents
        if document.id not in served
        and document.probe
        and (document.probe.reachable is False or document.probe.reason == "NotProbed")
    }


def _find_suspected(plane: DataPlane, documents: Iterable[LoadedDocument]) -> dict[DocumentId, Substitution]:
    """During bisection, suspects that are not being tried are served in their applied generation."""
    if not plane.trial:
        return {}
    out = {serialization.document_id_from_json(suspect) for suspect in plane.trial["suspects"]}
    out -= {serialization.document_id_from_json(document) for document in plane.trial["tried"]}
    applied = load_bundle(plane, plane.applied_revision)
    generations = (
        {bundle_input.document: bundle_input.generation for bundle_input in applied.inputs} if applied else {}
    )
    suspects = select_documents(documents, out)
    keys = {document.key: document.id for document in suspects.values() if document.key}
    contents = _load_generations({(key, generations.get(name, 0)) for key, name in keys.items()})
    substitutions = {}
    for key, name in keys.items():
        number = generations.get(name, 0)
        content = contents.get((key, number))
        message = "The data plane rejected a configuration; the search for the faulty document is running."
        substitutions[name] = Substitution("suspected", message, number if content else 0, content)
    return substitutions


def _load_generations(references: set[tuple[UUID, int]]) -> dict[tuple[UUID, int], Content]:
    if not references:
        return {}
    keys = {key for key, _ in references}
    rows = AgentConfigGeneration.objects.filter(document_id__in=keys, number__in={n for _, n in references})
    return {
        (key, number): serialization.content_from_json(content)
        for key, number, content in rows.values_list("document_id", "number", "content")
    }
