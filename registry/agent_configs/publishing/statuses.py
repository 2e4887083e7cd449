"""Status of each document in a data plane, with events when it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from controlplane.events import log as event_log
from registry.agent_configs import serialization
from registry.agent_configs.bundles.bundle import Bundle, BundleInput
from registry.agent_configs.bundles.compute import RecomputeResult
from registry.agent_configs.bundles.conditions import (
    Ack,
    AckState,
    Condition,
    Situation,
    Status,
    Type,
    build_conditions,
    with_transition_times,
)
from registry.agent_configs.bundles.gates import redact_holds
from registry.agent_configs.bundles.team_parts import find_waiting_documents
from registry.agent_configs.claims.decide import Decision
from registry.agent_configs.claims.redaction import redact_conditions
from registry.agent_configs.documents.published import DocumentId, PublishedDocument
from registry.agent_configs.event_types import CONFIG_STATUS_CHANGED
from registry.agent_configs.models import AgentConfigStatus, DataPlane
from registry.agent_configs.owners import owners_of, reader_of
from registry.agent_configs.publishing.hidden_teams import HiddenTeams
from registry.agent_configs.storage.load_documents import LoadedDocument
from registry.agent_configs.storage.load_inputs import LoadedInputs, Substitution

_ANNOUNCED = (Type.VALID, Type.ACCEPTED, Type.CONFLICTED, Type.PROGRAMMED, Type.APPLIED, Type.STALE)
# Normal for every new document, so the first occurrence is not an event.
_SILENT_WHEN_NEW = {(Type.VALID, "Valid"), (Type.CONFLICTED, "NoConflicts"), (Type.STALE, "Synced")}


@dataclass(frozen=True, slots=True)
class DocumentStatus:
    """The status of one document in a data plane."""

    conditions: tuple[Condition, ...]
    conflicts: list[dict[str, Any]]
    observations: list[dict[str, Any]]


def build_statuses(
    plane: DataPlane, loaded: LoadedInputs, recomputed: RecomputeResult, in_force: Bundle | None
) -> dict[DocumentId, DocumentStatus]:
    """Build each document's status without times, in one pass over all verdicts."""
    own = _split_by_document(recomputed.decision)
    inputs = {bundle_input.document: bundle_input for bundle_input in in_force.inputs} if in_force else {}
    served_documents = {document.id: document for document in recomputed.documents}
    held_parts = _find_held_parts(loaded, recomputed)
    hold_messages = {
        **_find_held_documents(recomputed, inputs),
        **{name: substitution.message for name, substitution in held_parts.items()},
    }
    substitutions = {**loaded.substitutions, **held_parts}
    statuses = {}
    for document in loaded.documents:
        decision = own.get(document.id, Decision())
        input_ = inputs.get(document.id)
        bundle = replace(in_force, inputs=(input_,) if input_ else ()) if in_force else None
        substitution = substitutions.get(document.id)
        situation = Situation(
            served_documents.get(document.id) or _without_content(document, substitution),
            document.generation,
            document.reading,
            decision,
            bundle,
            document.probe,
            acks=_acks(plane, input_, loaded.applied),
            quarantined=substitution is not None and substitution.content is None,
            source_synced=document.synced,
            hold_message=hold_messages.get(document.id, ""),
        )
        statuses[document.id] = DocumentStatus(
            tuple(_with_substitution(condition, substitution) for condition in build_conditions(situation)),
            [serialization.verdict_to_json(verdict) for verdict in decision.dropped if verdict.winner],
            [serialization.observation_to_json(observation) for observation in decision.observations],
        )
    return statuses


def store_statuses(
    plane: DataPlane,
    loaded: LoadedInputs,
    recomputed: RecomputeResult,
    in_force: Bundle | None,
    *,
    now: datetime,
) -> None:
    """Write changed statuses and append their events."""
    rows = {row.document_id: row for row in AgentConfigStatus.objects.filter(data_plane=plane)}
    statuses = build_statuses(plane, loaded, recomputed, in_force)
    events: list[event_log.Entry] = []
    owners = owners_of({document.id.namespace for document in loaded.documents})
    changed: list[AgentConfigStatus] = []
    for document in loaded.documents:
        assert document.key is not None
        row = rows.pop(document.key, None) or AgentConfigStatus()
        status = statuses[document.id]
        if _is_current(row, status):
            continue
        before = serialization.conditions_from_json(row.conditions, plane.name)
        conditions = with_transition_times(status.conditions, before, now=now)
        written = [serialization.condition_to_json(condition) for condition in conditions]
        news = _find_news(before, conditions)
        owner = owners.get(document.id.namespace)
        events += [_build_event(plane, document.id, condition, status, owner) for condition in news]
        changed.append(
            AgentConfigStatus(
                document_id=document.key,
                data_plane=plane,
                conditions=written,
                conflicts=status.conflicts,
                observations=status.observations,
            )
        )
    _store_rows(changed, [row.id for row in rows.values()])
    if events:
        event_log.append_each(events)


def _find_held_parts(loaded: LoadedInputs, recomputed: RecomputeResult) -> dict[DocumentId, Substitution]:
    """Find documents whose latest generation waits because their team's change is held."""
    division, parts = recomputed.division, loaded.inputs.parts
    served = {document.id: document for part in parts.values() for document in part}
    substitutions = {}
    for held_part in division.held_parts:
        for name in find_waiting_documents(held_part, loaded.inputs.documents, parts):
            before = served.get(name)
            generation, content = (before.generation, before.content) if before else (0, None)
            substitutions[name] = Substitution("held", held_part.message, generation, content)
    return substitutions


def _find_held_documents(
    recomputed: RecomputeResult, inputs: Mapping[DocumentId, BundleInput]
) -> dict[DocumentId, str]:
    """Find documents that wait because the whole bundle is held, with the reason."""
    message = " ".join(hold.message for hold in redact_holds(recomputed.holds))
    changed = (
        bundle_input
        for bundle_input in recomputed.bundle.inputs
        if inputs.get(bundle_input.document) != bundle_input
    )
    return {bundle_input.document: message for bundle_input in changed} if recomputed.holds else {}


def _without_content(document: LoadedDocument, substitution: Substitution | None) -> PublishedDocument:
    return document.published if substitution is None else replace(document.published, content=None)


def _is_current(row: AgentConfigStatus, status: DocumentStatus) -> bool:
    """True if the row says all of this already, whenever that began: so do nearly all of thousands."""
    conditions = [serialization.condition_to_json(condition) for condition in status.conditions]
    previous = [{**condition, "last_transition_at": None} for condition in row.conditions]
    return (previous, row.conflicts, row.observations) == (
        conditions,
        status.conflicts,
        status.observations,
    )


def _store_rows(changed: Sequence[AgentConfigStatus], gone: Sequence[int]) -> None:
    AgentConfigStatus.objects.bulk_create(
        changed,
        batch_size=1000,
        update_conflicts=True,
        unique_fields=("document", "data_plane"),
        update_fields=("conditions", "conflicts", "observations"),
    )
    AgentConfigStatus.objects.filter(id__in=gone).delete()


def _split_by_document(decision: Decision) -> dict[DocumentId, Decision]:
    verdicts, observations = defaultdict(list), defaultdict(list)
    for verdict in decision.verdicts:
        verdicts[verdict.claim.document].append(verdict)
    for observation in decision.observations:
        observations[observation.document].append(observation)
    names = verdicts.keys() | observations.keys()
    return {name: Decision(tuple(verdicts[name]), tuple(observations[name])) for name in names}


def _acks(plane: DataPlane, input_: BundleInput | None, applied: Collection[BundleInput]) -> tuple[Ack, ...]:
    """Return the acknowledgement of this generation; unchanged documents keep it in a new bundle."""
    if input_ is None or not plane.active_revision:
        return ()
    state = AckState(plane.ack_state) if plane.ack_state else None
    # A rejection makes the applied bundle active again.
    is_applied = plane.applied_revision == plane.active_revision or input_ in applied
    if is_applied and state is not AckState.DEGRADED:
        state = AckState.APPLIED
    message = "" if state else "The data plane has not acknowledged it yet."
    return (Ack(plane.name, state, input_.generation, message),)


def _with_substitution(condition: Condition, substitution: Substitution | None) -> Condition:
    """Show a document as not accepted while an older generation of it is served."""
    if substitution is None or condition.type is not Type.ACCEPTED:
        return condition
    served = (
        f"Generation {substitution.generation} is served."
        if substitution.generation
        else "The document is not served."
    )
    reasons = {"suspected": "Suspected", "unreachable": "Unreachable", "held": "Held"}
    reason = reasons.get(substitution.reason, "Quarantined")
    return replace(
        condition,
        status=Status.FALSE,
        reason=reason,
        message=f"{substitution.message} {served}".strip()[:1000],
    )


def _find_news(before: Iterable[Condition], after: Iterable[Condition]) -> list[Condition]:
    """Return the conditions whose change is an event."""
    previous = {condition.type: (condition.status, str(condition.reason)) for condition in before}
    return [
        condition
        for condition in after
        if condition.type in _ANNOUNCED
        and previous.get(condition.type) != (condition.status, str(condition.reason))
        and (condition.type in previous or (condition.type, str(condition.reason)) not in _SILENT_WHEN_NEW)
    ]


def _build_event(
    plane: DataPlane, name: DocumentId, condition: Condition, status: DocumentStatus, owner: UUID | None
) -> event_log.Entry:
    """Build the event of a condition. An event that the team may read names no other team."""
    reader = reader_of(owner, plane)
    row = serialization.condition_to_json(condition)
    if reader is not None:
        (row,) = redact_conditions([row], status.conflicts, HiddenTeams(all_but=frozenset({name.namespace})))
    data = {
        "source": name.source,
        "team": name.namespace,
        "name": name.name,
        "data_plane": plane.name,
        "condition": row["type"],
        "status": row["status"],
        "reason": row["reason"],
        "message": row["message"],
    }
    return event_log.Entry(
        CONFIG_STATUS_CHANGED, "agent_config", str(name), data, "system:agent_configs", team_id=reader
    )
