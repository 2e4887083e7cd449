"""Acknowledgements of data planes, and the bisection that finds a faulty document.

A rejected bundle is never served again; the last applied bundle becomes active again. The documents that
changed since then are suspects. If the errors name one of them, or there is only one, it is quarantined.
Otherwise half of the suspects are tried, then half of those, while the other suspects are served in their
applied generation. So no other team loses agents during the search.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F

from controlplane.database.clock import database_now
from controlplane.database.locks import lock_publishing
from controlplane.errors import FieldError, InvalidRequest, UnknownBundle
from controlplane.events import log as event_log
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from registry.agent_configs import serialization
from registry.agent_configs.bundles.bundle import Bundle
from registry.agent_configs.bundles.conditions import AckState
from registry.agent_configs.bundles.generations import find_suspects
from registry.agent_configs.delivery.data_planes import get_plane
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.event_types import BUNDLE_APPLIED, BUNDLE_REJECTED, BUNDLE_UNACKNOWLEDGED
from registry.agent_configs.models import AgentConfig, AgentConfigBundle, DataPlane
from registry.agent_configs.publishing.quarantine import quarantine_culprit
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.storage.load_inputs import load_bundle

_MAX_REJECTED = 100
# Bisection ends long before; this only bounds the loop.
_MAX_BISECT_STEPS = 64


@dataclass(frozen=True, slots=True)
class AckError:
    """An error reported by a data plane. path: JSON Pointer; document: `source/team/name`."""

    message: str
    path: str = ""
    document: str = ""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    revision: int
    state: AckState
    sha256: str = ""
    errors: tuple[AckError, ...] = ()


@transaction.atomic
def acknowledge(name: str, acknowledgement: Acknowledgement, *, actor: Actor) -> DataPlane:
    """Store a data plane's acknowledgement. One for a bundle that is no longer active changes nothing.

    Raises UnknownDataPlane, UnknownBundle, InvalidRequest.
    """
    lock_publishing()
    plane = get_plane(name)
    row = AgentConfigBundle.objects.filter(data_plane=plane, revision=acknowledgement.revision).first()
    if row is None:
        raise UnknownBundle(f"{name} has no revision {acknowledgement.revision}.")
    if acknowledgement.sha256 and acknowledgement.sha256 != row.digest:
        message = f"Revision {acknowledgement.revision} has a different digest: {row.digest}."
        raise InvalidRequest(message, errors=[FieldError("/sha256", "other_digest", message)])
    if acknowledgement.revision != plane.active_revision:
        return plane
    if (acknowledgement.state.value, acknowledgement.revision) == (plane.ack_state, plane.applied_revision):
        return plane
    plane.ack_state, plane.acked_at = acknowledgement.state.value, database_now()
    plane.ack_errors = [asdict(error) for error in acknowledgement.errors]
    if acknowledgement.state is AckState.REJECTED:
        _reject(plane, row, acknowledgement, actor)
    else:
        _apply(plane, row, actor)
    plane.save()
    _recompute_and_continue(plane, actor)
    return get_plane(name)


def alert_silent_planes(*, now: datetime) -> int:
    """Append an alert event for each data plane without an acknowledgement, once per bundle."""
    since = now - timedelta(seconds=settings.AGENT_CONFIGS_ACK_SECONDS)
    silent = DataPlane.objects.filter(activated_at__lt=since, ack_state="", active_revision__gt=0)
    silent = silent.exclude(active_revision=F("applied_revision"))
    count = 0
    for plane in silent.exclude(active_revision=F("alerted_revision")):
        DataPlane.objects.filter(name=plane.name).update(alerted_revision=plane.active_revision)
        _append_event(BUNDLE_UNACKNOWLEDGED, plane, _active_bundle_row(plane), "system:agent_configs")
        count += 1
    return count


def _apply(plane: DataPlane, row: AgentConfigBundle, actor: Actor) -> None:
    before = load_bundle(plane, plane.applied_revision)
    plane.applied_revision = row.revision
    _append_event(BUNDLE_APPLIED, plane, row, actor.name, state=plane.ack_state)
    if plane.trial:
        _bisect(plane, _untried_documents(plane), before)


def _reject(plane: DataPlane, row: AgentConfigBundle, acknowledgement: Acknowledgement, actor: Actor) -> None:
    message = (acknowledgement.errors[0].message if acknowledgement.errors else "No reason was given.")[:500]
    _append_event(BUNDLE_REJECTED, plane, row, actor.name, message=message)
    plane.rejected = [*plane.rejected, row.digest][-_MAX_REJECTED:]
    # The approval is void: the bundle does not work.
    plane.approved = [digest for digest in plane.approved if digest != row.digest]
    plane.active_revision = plane.applied_revision
    applied, rejected = load_bundle(plane, plane.applied_revision), serialization.bundle_from_json(row.body)
    candidates = _tried_documents(plane) if plane.trial else sorted(find_suspects(applied, rejected))
    named = _find_named_suspects(acknowledgement.errors, rejected, candidates)
    _bisect(plane, named if len(named) == 1 else candidates, applied, message)


def _recompute_and_continue(plane: DataPlane, actor: Actor) -> None:
    """Recompute; continue the bisection while a trial makes no new bundle to acknowledge."""
    for _ in range(_MAX_BISECT_STEPS):
        recompute_all(actor)
        plane.refresh_from_db()
        if not plane.trial or plane.active_revision != plane.applied_revision:
            return
        gates = {reason["gate"] for reason in (plane.held or {}).get("reasons", ())}
        if gates - {"rejected"}:
            return
        _bisect(
            plane,
            _tried_documents(plane) if gates else _untried_documents(plane),
            load_bundle(plane, plane.applied_revision),
        )
        plane.save(update_fields=["trial"])


def _bisect(
    plane: DataPlane, candidates: Sequence[DocumentId], applied: Bundle | None, message: str = ""
) -> None:
    """Quarantine a single suspect; of several, try half next."""
    plane.trial = None
    if len(candidates) == 1:
        _quarantine_culprit(plane, candidates[0], applied, message)
    elif candidates:
        written = [serialization.document_id_to_json(document_id) for document_id in candidates]
        plane.trial = {"suspects": written, "tried": written[: len(written) // 2], "message": message}


def _quarantine_culprit(plane: DataPlane, name: DocumentId, applied: Bundle | None, message: str) -> None:
    row = AgentConfig.objects.filter(
        source=name.source, team=name.namespace, name=name.name, deleted_at=None
    ).first()
    if row is None:
        return
    generations = (
        {bundle_input.document: bundle_input.generation for bundle_input in applied.inputs} if applied else {}
    )
    cause = message or "A configuration with this document was rejected; one without it was accepted."
    text = f"The data plane {plane.name} rejected generation {row.generation}: {cause}"
    quarantine_culprit(row, plane, fallback=generations.get(name, 0), message=text)


def _tried_documents(plane: DataPlane) -> list[DocumentId]:
    return [serialization.document_id_from_json(document) for document in plane.trial["tried"]]


def _untried_documents(plane: DataPlane) -> list[DocumentId]:
    """Return the untried suspects; the tried ones work."""
    tried = set(_tried_documents(plane))
    document_ids = [serialization.document_id_from_json(suspect) for suspect in plane.trial["suspects"]]
    return [document_id for document_id in document_ids if document_id not in tried]


def _find_named_suspects(
    errors: Collection[AckError], bundle: Bundle, candidates: Sequence[DocumentId]
) -> list[DocumentId]:
    """Return the suspects that errors name, by document or by an agent or task type in the path."""
    steps = {step for error in errors for step in error.path.split("/") if step}
    named_documents = {error.document for error in errors}
    serving = {route.document for route in bundle.routes if route.agent in steps or route.task_type in steps}
    return [
        document_id
        for document_id in candidates
        if str(document_id) in named_documents or document_id in serving
    ]


def _active_bundle_row(plane: DataPlane) -> AgentConfigBundle:
    return AgentConfigBundle.objects.get(data_plane=plane, revision=plane.active_revision)


def _append_event(
    event_type: EventType, plane: DataPlane, row: AgentConfigBundle, actor: str, **more: str
) -> None:
    data = {"data_plane": plane.name, "revision": row.revision, "digest": row.digest, **more}
    event_log.append(
        event_type, "data_plane", plane.name, data=data, actor=actor, team_id=plane.bundle_owner_id
    )
