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
    inputs = {one.document: one for one in in_force.inputs} if in_force else {}
    given = {one.id: one for one in recomputed.documents}
    held_parts = _held_parts(loaded, recomputed)
    held = {**_held_with_all(recomputed, inputs), **{name: one.message for name, one in held_parts.items()}}
    exceptions = {**loaded.exceptions, **held_parts}
    found = {}
    for document in loaded.documents:
        mine = own.get(document.id, Decision())
        input_ = inputs.get(document.id)
        bundle = replace(in_force, inputs=(input_,) if input_ else ()) if in_force else None
        instead = exceptions.get(document.id)
        situation = Situation(
            given.get(document.id) or _left_out(document, instead),
            document.generation,
            document.reading,
            mine,
            bundle,
            document.probe,
            acks=_acks(plane, input_, loaded.applied),
            quarantined=instead is not None and instead.content is None,
            source_synced=document.synced,
            held=held.get(document.id, ""),
        )
        found[document.id] = Standing(
            tuple(_as_told(one, instead) for one in conditions_of(situation)),
            [serialization.write_verdict(one) for one in mine.dropped if one.winner],
            [serialization.write_observation(one) for one in mine.observations],
        )
    return found


def store_statuses(
    plane: DataPlane, loaded: Loaded, recomputed: Recomputed, in_force: Bundle | None, *, now: datetime
) -> None:
    """Write what changed, and announce it."""
    rows = {row.document_id: row for row in AgentConfigStatus.objects.filter(data_plane=plane)}
    found = standings(plane, loaded, recomputed, in_force)
    events: list[tuple[EventType, str, dict[str, Any], Scope]] = []
    changed: list[AgentConfigStatus] = []
    for document in loaded.documents:
        assert document.key is not None
        row = rows.pop(document.key, None) or AgentConfigStatus()
        standing = found[document.id]
        if _says(row, standing):
            continue
        before = [serialization.read_condition(one, plane.name) for one in row.conditions]
        conditions = with_times(standing.conditions, before, now=now)
        written = [serialization.write_condition(one) for one in conditions]
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
    served = {one.id: one for part in parts.values() for one in part}
    found = {}
    for held in division.held:
        for name in waiting(held, loaded.world.documents, parts):
            before = served.get(name)
            generation, content = (before.generation, before.content) if before else (0, None)
            found[name] = Instead("held", held.message, generation, content)
    return found


def _held_with_all(recomputed: Recomputed, inputs: Mapping[DocumentId, Input]) -> dict[DocumentId, str]:
    """Documents that wait because the whole bundle does, with why."""
    message = " ".join(one.message for one in veiled(recomputed.held))
    changed = (one for one in recomputed.bundle.inputs if inputs.get(one.document) != one)
    return {one.document: message for one in changed} if recomputed.held else {}


def _left_out(document: Document, instead: Instead | None) -> Published:
    return document.published if instead is None else replace(document.published, content=None)


def _says(row: AgentConfigStatus, standing: Standing) -> bool:
    """True if the row says all of this already, whenever that began: so do nearly all of thousands."""
    told = [serialization.write_condition(one) for one in standing.conditions]
    known = [{**one, "last_transition_at": None} for one in row.conditions]
    return (known, row.conflicts, row.observations) == (told, standing.conflicts, standing.observations)


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
    return {one: Decision(tuple(verdicts[one]), tuple(observations[one])) for one in names}


def _acks(plane: DataPlane, input_: Input | None, applied: Collection[Input]) -> tuple[Ack, ...]:
    """What the data plane said of this generation: a new bundle says nothing new of what stayed as it was."""
    if input_ is None or not plane.active_revision:
        return ()
    said = AckState(plane.ack_state) if plane.ack_state else None
    # Rejecting brings the applied one back in force.
    is_applied = plane.applied_revision == plane.active_revision or input_ in applied
    if is_applied and said is not AckState.DEGRADED:
        said = AckState.APPLIED
    message = "" if said else "The data plane has not answered yet."
    return (Ack(plane.name, said, input_.generation, message),)


def _as_told(one: Condition, instead: Instead | None) -> Condition:
    """A document that is kept as it was must not look accepted as it is."""
    if instead is None or one.type is not Type.ACCEPTED:
        return one
    served = f"Generation {instead.generation} is served." if instead.generation else "It is left out."
    reasons = {"suspected": "Suspected", "unreachable": "Unreachable", "held": "Held"}
    reason = reasons.get(instead.reason, "Quarantined")
    return replace(
        one, status=Status.FALSE, reason=reason, message=f"{instead.message} {served}".strip()[:1000]
    )


def _news(
    plane: DataPlane, document: Document, before: Iterable[Condition], after: Iterable[Condition]
) -> list[tuple[EventType, str, dict[str, Any], Scope]]:
    known = {one.type: (one.status, str(one.reason)) for one in before}
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
                "condition": one.type.value,
                "status": one.status.value,
                "reason": str(one.reason),
                "message": one.message,
            },
            Scope(),
        )
        for one in after
        if one.type in _ANNOUNCED
        and known.get(one.type) != (one.status, str(one.reason))
        and (one.type in known or (one.type, str(one.reason)) not in _QUIET)
    ]
