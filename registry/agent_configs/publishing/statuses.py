"""How each document stands in a data plane: told to its authors, and as events when it changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from controlplane.events import log as event_log
from controlplane.events.types import EventType
from controlplane.scopes import Scope
from registry.agent_configs import serialization
from registry.agent_configs.bundles.bundle import Bundle, Input
from registry.agent_configs.bundles.compute import Recomputed
from registry.agent_configs.bundles.conditions import (
    Ack,
    AckState,
    Condition,
    Situation,
    Status,
    Type,
    conditions_of,
    with_times,
)
from registry.agent_configs.bundles.gates import veiled
from registry.agent_configs.bundles.team_parts import waiting
from registry.agent_configs.claims.decide import Decision
from registry.agent_configs.documents.published import DocumentId, Published
from registry.agent_configs.event_types import CONFIG_STATUS_CHANGED
from registry.agent_configs.models import AgentConfigStatus, DataPlane
from registry.agent_configs.storage.load_documents import Document
from registry.agent_configs.storage.load_inputs import Instead, Loaded

_ANNOUNCED = (Type.VALID, Type.ACCEPTED, Type.CONFLICTED, Type.PROGRAMMED, Type.APPLIED, Type.STALE)
# Of these an event is news only if it is bad: every new document would tell the same.
_QUIET = {(Type.VALID, "Valid"), (Type.CONFLICTED, "NoConflicts"), (Type.STALE, "Synced")}


@dataclass(frozen=True, slots=True)
class Standing:
    """What was found of one document."""

    conditions: tuple[Condition, ...]
    conflicts: list[dict[str, Any]]
    observations: list[dict[str, Any]]


def standings(
    plane: DataPlane, loaded: Loaded, recomputed: Recomputed, in_force: Bundle | None
) -> dict[DocumentId, Standing]:
    """How each document stands, without times. Looks at each verdict once, however many documents."""
    own = _split(recomputed.decision)
    inputs = {bundle_input.document: bundle_input for bundle_input in in_force.inputs} if in_force else {}
    served_documents = {document.id: document for document in recomputed.documents}
    held_parts = _held_parts(loaded, recomputed)
    hold_messages = {
        **_held_with_all(recomputed, inputs),
        **{name: substitution.message for name, substitution in held_parts.items()},
    }
    exceptions = {**loaded.exceptions, **held_parts}
    statuses = {}
    for document in loaded.documents:
        decision = own.get(document.id, Decision())
        input_ = inputs.get(document.id)
        bundle = replace(in_force, inputs=(input_,) if input_ else ()) if in_force else None
        instead = exceptions.get(document.id)
        situation = Situation(
            served_documents.get(document.id) or _left_out(document, instead),
            document.generation,
            document.reading,
            decision,
            bundle,
            document.probe,
            acks=_acks(plane, input_, loaded.applied),
            quarantined=instead is not None and instead.content is None,
            source_synced=document.synced,
            held=hold_messages.get(document.id, ""),
        )
        statuses[document.id] = Standing(
            tuple(_as_told(condition, instead) for condition in conditions_of(situation)),
            [serialization.write_verdict(verdict) for verdict in decision.dropped if verdict.winner],
            [serialization.write_observation(observation) for observation in decision.observations],
        )
    return statuses


def store_statuses(
    plane: DataPlane, loaded: Loaded, recomputed: Recomputed, in_force: Bundle | None, *, now: datetime
) -> None:
    """Write what changed, and announce it."""
    rows = {row.document_id: row for row in AgentConfigStatus.objects.filter(data_plane=plane)}
    statuses = standings(plane, loaded, recomputed, in_force)
    events: list[tuple[EventType, str, dict[str, Any], Scope]] = []
    changed: list[AgentConfigStatus] = []
    for document in loaded.documents:
        assert document.key is not None
        row = rows.pop(document.key, None) or AgentConfigStatus()
        standing = statuses[document.id]
        if _says(row, standing):
            continue
        before = [serialization.read_condition(condition, plane.name) for condition in row.conditions]
        conditions = with_times(standing.conditions, before, now=now)
        written = [serialization.write_condition(condition) for condition in conditions]
        events += _news(plane, document, before, conditions)
        changed.append(
            AgentConfigStatus(
                document_id=document.key,
                data_plane=plane,
                conditions=written,
                conflicts=standing.conflicts,
                observations=standing.observations,
            )
        )
    _write(changed, [row.id for row in rows.values()])
    if events:
        event_log.append_many(events, object_type="agent_config", actor="system:agent_configs")


def _held_parts(loaded: Loaded, recomputed: Recomputed) -> dict[DocumentId, Instead]:
    """Documents whose latest generation waits because a gate holds their team's change."""
    division, parts = recomputed.division, loaded.world.parts
    served = {document.id: document for part in parts.values() for document in part}
    substitutions = {}
    for held_part in division.held:
        for name in waiting(held_part, loaded.world.documents, parts):
            before = served.get(name)
            generation, content = (before.generation, before.content) if before else (0, None)
            substitutions[name] = Instead("held", held_part.message, generation, content)
    return substitutions


def _held_with_all(recomputed: Recomputed, inputs: Mapping[DocumentId, Input]) -> dict[DocumentId, str]:
    """Documents that wait because the whole bundle does, with why."""
    message = " ".join(hold.message for hold in veiled(recomputed.held))
    changed = (
        bundle_input
        for bundle_input in recomputed.bundle.inputs
        if inputs.get(bundle_input.document) != bundle_input
    )
    return {bundle_input.document: message for bundle_input in changed} if recomputed.held else {}


def _left_out(document: Document, instead: Instead | None) -> Published:
    return document.published if instead is None else replace(document.published, content=None)


def _says(row: AgentConfigStatus, standing: Standing) -> bool:
    """True if the row says all of this already, whenever that began: so do nearly all of thousands."""
    conditions = [serialization.write_condition(condition) for condition in standing.conditions]
    previous = [{**condition, "last_transition_at": None} for condition in row.conditions]
    return (previous, row.conflicts, row.observations) == (
        conditions,
        standing.conflicts,
        standing.observations,
    )


def _write(changed: Sequence[AgentConfigStatus], gone: Sequence[int]) -> None:
    AgentConfigStatus.objects.bulk_create(
        changed,
        batch_size=1000,
        update_conflicts=True,
        unique_fields=("document", "data_plane"),
        update_fields=("conditions", "conflicts", "observations"),
    )
    AgentConfigStatus.objects.filter(id__in=gone).delete()


def _split(decision: Decision) -> dict[DocumentId, Decision]:
    verdicts, observations = defaultdict(list), defaultdict(list)
    for verdict in decision.verdicts:
        verdicts[verdict.claim.document].append(verdict)
    for observation in decision.observations:
        observations[observation.document].append(observation)
    names = verdicts.keys() | observations.keys()
    return {name: Decision(tuple(verdicts[name]), tuple(observations[name])) for name in names}


def _acks(plane: DataPlane, input_: Input | None, applied: Collection[Input]) -> tuple[Ack, ...]:
    """What the data plane said of this generation: a new bundle says nothing new of what stayed as it was."""
    if input_ is None or not plane.active_revision:
        return ()
    state = AckState(plane.ack_state) if plane.ack_state else None
    # Rejecting brings the applied one back in force.
    is_applied = plane.applied_revision == plane.active_revision or input_ in applied
    if is_applied and state is not AckState.DEGRADED:
        state = AckState.APPLIED
    message = "" if state else "The data plane has not answered yet."
    return (Ack(plane.name, state, input_.generation, message),)


def _as_told(condition: Condition, instead: Instead | None) -> Condition:
    """A document that is kept as it was must not look accepted as it is."""
    if instead is None or condition.type is not Type.ACCEPTED:
        return condition
    served = f"Generation {instead.generation} is served." if instead.generation else "It is left out."
    reasons = {"suspected": "Suspected", "unreachable": "Unreachable", "held": "Held"}
    reason = reasons.get(instead.reason, "Quarantined")
    return replace(
        condition, status=Status.FALSE, reason=reason, message=f"{instead.message} {served}".strip()[:1000]
    )


def _news(
    plane: DataPlane, document: Document, before: Iterable[Condition], after: Iterable[Condition]
) -> list[tuple[EventType, str, dict[str, Any], Scope]]:
    previous = {condition.type: (condition.status, str(condition.reason)) for condition in before}
    name = document.id
    return [
        (
            CONFIG_STATUS_CHANGED,
            str(name),
            {
                "source": name.source,
                "team": name.namespace,
                "name": name.name,
                "data_plane": plane.name,
                "condition": condition.type.value,
                "status": condition.status.value,
                "reason": str(condition.reason),
                "message": condition.message,
            },
            Scope(),
        )
        for condition in after
        if condition.type in _ANNOUNCED
        and previous.get(condition.type) != (condition.status, str(condition.reason))
        and (condition.type in previous or (condition.type, str(condition.reason)) not in _QUIET)
    ]
