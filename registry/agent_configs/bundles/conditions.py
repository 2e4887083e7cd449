"""Status conditions of a document in Kubernetes' format. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from registry.agent_configs.bundles.bundle import Bundle, BundleInput
from registry.agent_configs.claims.decide import Decision
from registry.agent_configs.claims.verdicts import Reason, Verdict, redact_verdict
from registry.agent_configs.documents.published import PublishedDocument
from registry.agent_configs.documents.reading import Reading

# Kubernetes truncates event messages at 1024 characters; conditions need no more.
_MAX_MESSAGE_LENGTH = 1000
# A warning: the agent answers, and does not report a task type that the document routes to it.
TASK_TYPE_NOT_SERVED = "TaskTypeNotServed"


class Status(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Type(StrEnum):
    PARSED = "Parsed"
    VALID = "Valid"
    ACCEPTED = "Accepted"
    CONFLICTED = "Conflicted"
    REACHABLE = "Reachable"
    PROGRAMMED = "Programmed"
    APPLIED = "Applied"
    STALE = "Stale"


@dataclass(frozen=True, slots=True)
class Condition:
    """A status condition. observed_generation: of the document. data_plane: only for Applied."""

    type: Type
    status: Status
    reason: str
    message: str = ""
    observed_generation: int = 0
    data_plane: str = ""
    last_transition_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of a reachability check. reachable: None if unknown. vantage: where the probe ran.

    reason: why the result is unknown, or TASK_TYPE_NOT_SERVED: reachable, with a warning.
    """

    reachable: bool | None
    vantage: str = ""
    message: str = ""
    reason: str = ""


class AckState(StrEnum):
    APPLIED = "APPLIED"
    REJECTED = "REJECTED"
    DEGRADED = "DEGRADED"


@dataclass(frozen=True, slots=True)
class Ack:
    """A data plane's last acknowledgement. state: None if there is none. generation: the document's."""

    data_plane: str
    state: AckState | None
    generation: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """All facts that the conditions of one document depend on.

    generation, reading: of the latest generation; published: what may be served. source_synced: False while
    its source cannot be read. hold_message: why a gate holds the latest generation; empty if none does.
    """

    published: PublishedDocument
    generation: int
    reading: Reading
    decision: Decision
    active: Bundle | None = None
    probe: ProbeResult | None = None
    acks: Sequence[Ack] = ()
    quarantined: bool = False
    source_synced: bool = True
    hold_message: str = ""


def build_conditions(situation: Situation) -> tuple[Condition, ...]:
    """Return all conditions of a document, without transition times."""
    return (
        _parsed_condition(situation),
        _valid_condition(situation),
        _accepted_condition(situation),
        _conflicted_condition(situation),
        reachable_condition(situation.probe, situation.published.generation),
        _programmed_condition(situation),
        *_applied_conditions(situation),
        _stale_condition(situation),
    )


def with_transition_times(
    conditions: Iterable[Condition], before: Iterable[Condition], *, now: datetime
) -> tuple[Condition, ...]:
    """Add the time of the last transition, which only changes with the status."""
    previous: Mapping[tuple[Type, str], Condition] = {
        (condition.type, condition.data_plane): condition for condition in before
    }
    return tuple(
        _with_transition_time(condition, previous.get((condition.type, condition.data_plane)), now)
        for condition in conditions
    )


def _with_transition_time(condition: Condition, before: Condition | None, now: datetime) -> Condition:
    same = before is not None and before.status is condition.status
    return replace(condition, last_transition_at=before.last_transition_at if before and same else now)


def _parsed_condition(situation: Situation) -> Condition:
    if situation.reading.parsed:
        return Condition(Type.PARSED, Status.TRUE, "Parsed", observed_generation=situation.generation)
    return _invalid_condition(situation, Type.PARSED)


def _valid_condition(situation: Situation) -> Condition:
    if not situation.reading.errors:
        return Condition(Type.VALID, Status.TRUE, "Valid", observed_generation=situation.generation)
    return _invalid_condition(situation, Type.VALID)


def _invalid_condition(situation: Situation, type_: Type) -> Condition:
    errors = situation.reading.errors
    message = _join_messages(
        f"{error.message} ({error.file or 'line'} {error.line}:{error.column})" for error in errors
    )
    return Condition(type_, Status.FALSE, errors[0].code, message, situation.generation)


def _accepted_condition(situation: Situation) -> Condition:
    generation = situation.published.generation
    if situation.quarantined:
        message = "The document is quarantined until an administrator readmits it."
        return Condition(Type.ACCEPTED, Status.FALSE, "Quarantined", message, generation)
    if situation.published.content is None:
        return replace(_no_content_condition(situation), type=Type.ACCEPTED)
    verdicts = situation.decision.of(situation.published.id)
    dropped = [verdict for verdict in verdicts if not verdict.accepted]
    message = _join_messages(_verdict_message(verdict, situation) for verdict in dropped)
    if not dropped:
        shared = any(verdict.reason is Reason.SHARED_IDENTICAL for verdict in verdicts)
        reason = Reason.SHARED_IDENTICAL if shared else Reason.ACCEPTED
        return Condition(Type.ACCEPTED, Status.TRUE, reason, message, generation)
    if len(dropped) < len(verdicts):
        return Condition(Type.ACCEPTED, Status.TRUE, "PartiallyAccepted", message, generation)
    return Condition(Type.ACCEPTED, Status.FALSE, dropped[0].reason, message, generation)


def _no_content_condition(situation: Situation) -> Condition:
    if situation.reading.errors:
        return _invalid_condition(situation, Type.ACCEPTED)
    message = "The document has no valid generation to serve."
    return Condition(Type.ACCEPTED, Status.FALSE, "Superseded", message, situation.generation)


def _conflicted_condition(situation: Situation) -> Condition:
    generation = situation.published.generation
    lost = [
        verdict
        for verdict in situation.decision.of(situation.published.id)
        if not verdict.accepted and verdict.winner
    ]
    if not lost:
        return Condition(Type.CONFLICTED, Status.FALSE, "NoConflicts", "", generation)
    message = _join_messages(_verdict_message(verdict, situation) for verdict in lost)
    return Condition(Type.CONFLICTED, Status.TRUE, lost[0].reason, message, generation)


def reachable_condition(probe: ProbeResult | None, generation: int) -> Condition:
    """Return the condition Reachable for a probe result; without one it is Unknown."""
    if probe is None or probe.reachable is None:
        message = probe.message if probe else "No agent of the document has been probed yet."
        reason = (probe.reason if probe else "") or "NotProbed"
        return Condition(Type.REACHABLE, Status.UNKNOWN, reason, message, generation)
    message = f"{probe.message} (seen from {probe.vantage})" if probe.vantage else probe.message
    if probe.reachable:
        reason = TASK_TYPE_NOT_SERVED if probe.reason == TASK_TYPE_NOT_SERVED else "Reachable"
        return Condition(Type.REACHABLE, Status.TRUE, reason, message, generation)
    return Condition(Type.REACHABLE, Status.FALSE, "Unreachable", message, generation)


def _programmed_condition(situation: Situation) -> Condition:
    """True if the active bundle includes any generation of the document."""
    served = _find_served_input(situation)
    if situation.hold_message and (served is None or served.generation != situation.generation):
        return _held_condition(situation, served)
    if served is None:
        message = "The active bundle does not include this document."
        return Condition(Type.PROGRAMMED, Status.FALSE, "NotProgrammed", message, situation.generation)
    if served.generation == situation.generation:
        return Condition(Type.PROGRAMMED, Status.TRUE, "Programmed", "", served.generation)
    message = f"Generation {served.generation} is served, not {situation.generation}."
    reason = "ServingLastGood" if situation.reading.errors else "Pending"
    return Condition(Type.PROGRAMMED, Status.TRUE, reason, message, served.generation)


def _held_condition(situation: Situation, served: BundleInput | None) -> Condition:
    status = Status.TRUE if served else Status.FALSE
    what = f"Generation {served.generation} stays active." if served else "No generation is active."
    generation = served.generation if served else situation.generation
    return Condition(
        Type.PROGRAMMED, status, "Held", _join_messages((situation.hold_message, what)), generation
    )


def _applied_conditions(situation: Situation) -> Iterator[Condition]:
    for ack in sorted(situation.acks, key=lambda ack: ack.data_plane):
        status = {AckState.APPLIED: Status.TRUE, None: Status.UNKNOWN}.get(ack.state, Status.FALSE)
        reason = ack.state.title() if ack.state else "NotAcknowledged"
        yield Condition(Type.APPLIED, status, reason, ack.message, ack.generation, ack.data_plane)


def _stale_condition(situation: Situation) -> Condition:
    if situation.source_synced:
        return Condition(Type.STALE, Status.FALSE, "Synced", "", situation.generation)
    message = "The source cannot be read. The last documents read from it stay active."
    return Condition(Type.STALE, Status.TRUE, "SourceUnavailable", message, situation.generation)


def _find_served_input(situation: Situation) -> BundleInput | None:
    inputs = situation.active.inputs if situation.active else ()
    return next(
        (bundle_input for bundle_input in inputs if bundle_input.document == situation.published.id), None
    )


def _verdict_message(verdict: Verdict, situation: Situation) -> str:
    return redact_verdict(verdict, situation.published.organisation).message


def _join_messages(messages: Iterable[str]) -> str:
    text = " ".join(messages)
    return text if len(text) <= _MAX_MESSAGE_LENGTH else f"{text[: _MAX_MESSAGE_LENGTH - 3]}..."
