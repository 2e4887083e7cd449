"""Choose an agent: filter, then score. Pure: the same input always gives the same choice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from controlplane.formats import label_selectors as selectors
from registry.dispatch.placement.candidates import (
    AgentVerdict,
    Candidate,
    Obstacle,
    Placement,
    Refusal,
    Requirements,
    Ruling,
)
from registry.dispatch.placement.refusals import refusals
from registry.dispatch.placement.scores import score

_Judged = list[tuple[Candidate, AgentVerdict]]


def choose(
    requirements: Requirements, candidates: Iterable[Candidate], ruling: Ruling | None = None
) -> Placement:
    """Return the best candidate that meets the requirements, with a verdict on each, the best first.

    ruling: of the placement policy; None without one.
    """
    terms = selectors.parse(requirements.selector)
    judged: _Judged = []
    for candidate in candidates:
        reasons = refusals(requirements, candidate, terms)
        parts = {} if reasons else score(requirements, candidate)
        judged.append((candidate, AgentVerdict(candidate.ref, reasons, parts, candidate.owner)))
    if ruling is not None:
        judged = [_ruled(candidate, verdict, ruling) for candidate, verdict in judged]
    judged.sort(key=lambda pair: _rank(requirements, pair[1]))
    verdicts = tuple(verdict for _, verdict in judged)
    able = [(candidate, verdict) for candidate, verdict in judged if not verdict.refusals]
    if ruling is not None and ruling.deny:
        return Placement(None, ruling.deny, verdicts)
    if not able:
        return Placement(None, _why_none(requirements, verdicts), verdicts)
    return Placement(able[0][0], _why(able, ruling), verdicts)


def _ruled(candidate: Candidate, verdict: AgentVerdict, ruling: Ruling) -> tuple[Candidate, AgentVerdict]:
    """Apply the policy's answer to an agent that is able otherwise."""
    name, text = candidate.ref.name, ""
    if ruling.deny or verdict.refusals:
        return candidate, verdict
    if name in ruling.reject:
        text = f"The placement policy rejects it: {ruling.reject[name]}"
    elif name not in ruling.known:
        text = "The placement policy has not judged it yet."
    elif ruling.choose not in ("", name):
        text = "The placement policy chose another agent."
    if not text:
        return candidate, verdict
    return candidate, replace(verdict, refusals=(Refusal(Obstacle.POLICY, text),), score={})


def _rank(requirements: Requirements, verdict: AgentVerdict) -> tuple[bool, float, bytes, str]:
    if verdict.refusals:
        return True, len(verdict.refusals), b"", verdict.agent.name
    return False, verdict.total, tie_break(requirements.key, verdict.agent.id), verdict.agent.name


def tie_break(key: str, agent_id: str) -> bytes:
    """Return a number that orders equal agents differently for each resource, so that they share the load."""
    return hashlib.blake2b(f"{key}\n{agent_id}".encode(), digest_size=8).digest()


def _why(able: Sequence[tuple[Candidate, AgentVerdict]], ruling: Ruling | None) -> str:
    verdict = able[0][1]
    parts = ", ".join(f"{name} {points:g}" for name, points in verdict.score.items() if points)
    if ruling is not None and ruling.choose:
        return "The placement policy chose it."
    if len(able) == 1:
        return "It is the only agent that can take it."
    figures = f"{verdict.total:g}" + (f": {parts}" if parts else "")
    if able[1][1].total == verdict.total:
        return f"Several agents have the lowest score ({figures}), and the resource's id decides."
    return f"It has the lowest score ({figures})."


def _why_none(requirements: Requirements, verdicts: Sequence[AgentVerdict]) -> str:
    """Return the reason without names and numbers: readers of the resource may not read the agents."""
    if requirements.agent:
        verdicts = [verdict for verdict in verdicts if verdict.agent.name == requirements.agent]
    present = {refusal.obstacle for verdict in verdicts for refusal in verdict.refusals}
    obstacles = ", ".join(obstacle for obstacle in Obstacle if obstacle in present)
    if requirements.agent and not verdicts:
        return f"There is no agent {requirements.agent} for it."
    if requirements.agent:
        return f"The agent {requirements.agent} cannot take it now. It is: {obstacles}."
    if not verdicts and (requirements.environment or requirements.selector):
        return f"No agent with the required environment and labels offers {requirements.service_type}."
    if not verdicts:
        return f"No agent offers the service type {requirements.service_type}."
    return f"No agent that offers {requirements.service_type} can take it now. They are: {obstacles}."
