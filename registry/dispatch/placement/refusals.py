"""Why an agent cannot take a request: each filter with its reason. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controlplane.formats.counts import counted
from controlplane.formats.label_selectors import Operator, Requirement
from registry.agents.states import State
from registry.dispatch.placement.candidates import Candidate, Obstacle, Refusal, Requirements

_STATES = {
    State.REGISTERED: "It waits for an operator's approval (state registered).",
    State.CONGESTED: "It reports that it has too many unread requests (state congested).",
    State.DRAINING: "It is draining: it finishes its work and gets no more.",
    State.UNAVAILABLE: "It is unavailable: its heartbeats have stopped.",
    State.UNKNOWN: "Its state is unknown: it fell silent together with many other agents.",
    State.RETIRED: "It is retired.",
}
_Filter = Callable[[Requirements, Candidate], str]


def refusals(
    requirements: Requirements, candidate: Candidate, terms: Sequence[Requirement] = ()
) -> tuple[Refusal, ...]:
    """Return all reasons why the agent cannot take the request. terms: the parsed selector."""
    texts = [(obstacle, check(requirements, candidate)) for obstacle, check in _FILTERS.items()]
    texts.append((Obstacle.LABELS, _labels(terms, candidate)))
    return tuple(Refusal(obstacle, text) for obstacle, text in texts if text)


def _service_type(requirements: Requirements, candidate: Candidate) -> str:
    if requirements.service_type in candidate.service_types:
        return ""
    return f"It does not offer the service type {requirements.service_type}."


def _provider(requirements: Requirements, candidate: Candidate) -> str:
    weakness = candidate.weaknesses.get(requirements.service_type)
    if weakness is None or not weakness.unavailable:
        return ""
    source = f"Its provider {weakness.source}" if weakness.source else "Its provider"
    reason = f": {weakness.reason}" if weakness.reason else ""
    return f"{source} for {requirements.service_type} is unavailable{reason}".rstrip(".") + "."


def _state(_: Requirements, candidate: Candidate) -> str:
    text = _STATES.get(candidate.state, "")
    return f"{text} Reason: {candidate.state_reason}" if text and candidate.state_reason else text


def _late(_: Requirements, candidate: Candidate) -> str:
    return "Its heartbeat is overdue." if candidate.late else ""


def _environment(requirements: Requirements, candidate: Candidate) -> str:
    if requirements.environment in ("", candidate.environment):
        return ""
    return f"It is in the environment {candidate.environment}, and the request requires " + (
        f"{requirements.environment}."
    )


def _name(requirements: Requirements, candidate: Candidate) -> str:
    if requirements.agent in ("", candidate.ref.name):
        return ""
    return f"The request requires the agent {requirements.agent}."


def _owner(requirements: Requirements, candidate: Candidate) -> str:
    if candidate.owner in (None, requirements.owner):
        return ""
    return "It belongs to a team, and serves only resources of that team."


def _full(_: Requirements, candidate: Candidate) -> str:
    if candidate.capacity is None or candidate.load < candidate.capacity:
        return ""
    return (
        f"It is full: it has {counted(candidate.load, 'resource')}, and its capacity is {candidate.capacity}."
    )


def _congested(_: Requirements, candidate: Candidate) -> str:
    return f"It is congested: {candidate.waiting} messages wait for it." if candidate.congested else ""


def _unsettled(requirements: Requirements, candidate: Candidate) -> str:
    if candidate.ref.id not in requirements.excluded:
        return ""
    return "It has an earlier attempt at this resource that is not settled yet."


def _guard(_: Requirements, candidate: Candidate) -> str:
    if not candidate.guard:
        return ""
    return f"The fleet guard of {candidate.guard} is engaged: many agents fell silent together."


def _deaf(_: Requirements, candidate: Candidate) -> str:
    if candidate.receives is not False:
        return ""
    return (
        "It receives no messages: it has no consumer in NATS, and has not fetched requests by HTTPS recently."
    )


_FILTERS: dict[Obstacle, _Filter] = {
    Obstacle.TYPE: _service_type,
    Obstacle.PROVIDER: _provider,
    Obstacle.STATE: _state,
    Obstacle.LATE: _late,
    Obstacle.ENVIRONMENT: _environment,
    Obstacle.NAME: _name,
    Obstacle.OWNER: _owner,
    Obstacle.FULL: _full,
    Obstacle.CONGESTED: _congested,
    Obstacle.UNSETTLED: _unsettled,
    Obstacle.GUARD: _guard,
    Obstacle.DEAF: _deaf,
}


def _labels(terms: Sequence[Requirement], candidate: Candidate) -> str:
    unmet = [_term(term) for term in terms if not term.is_met_by(dict(candidate.labels))]
    return f"Its labels do not match the selector: {', '.join(unmet)}." if unmet else ""


def _term(term: Requirement) -> str:
    match term.operator:
        case Operator.EXISTS:
            return term.name
        case Operator.ABSENT:
            return f"!{term.name}"
    return f"{term.name} {term.operator} ({','.join(term.values)})"
