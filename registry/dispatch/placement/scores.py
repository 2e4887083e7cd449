"""How good an agent is for a request: a sum of named parts, of which the lowest is best. Pure.

An agent handles its messages one after another (dispatch.md A14), so its queue can weigh more than its cost.
Parts that can grow without limit approach their weight: all others together stay below `avoided`.
"""

from __future__ import annotations

from dataclasses import dataclass

from registry.agents.states import Cost
from registry.dispatch.placement.candidates import Candidate, Requirements


@dataclass(frozen=True, slots=True)
class Weight:
    """The greatest value of a part. half: the fact at which half of it is reached, if it has no limit."""

    weight: float
    meaning: str
    half: float = 0.0


# The one table of weights.
WEIGHTS: dict[str, Weight] = {
    "avoided": Weight(1000, "It had the resource before, and failed or was given up."),
    "queue": Weight(200, "Messages that wait for it: unread, or read and not answered.", half=100),
    "unproven": Weight(60, "It is so new that nobody knows yet whether it receives messages."),
    "degraded": Weight(50, "Its provider of the service type is degraded."),
    "flapping": Weight(50, "It has fallen silent and returned repeatedly.", half=4),
    "cost": Weight(40, "Its cost: 0 for low, 10 for each step up to high."),
    "capacity": Weight(20, "The used share of its capacity; half if it reports none."),
    "spread": Weight(20, "Resources that it has, so that equal agents share the load.", half=100),
}
_COSTS = {cost.value: step / (len(Cost) - 1) for step, cost in enumerate(Cost)}


def score(requirements: Requirements, candidate: Candidate) -> dict[str, float]:
    """Return the parts of the score by name."""
    weakness = candidate.weaknesses.get(requirements.service_type)
    shares = {
        "avoided": float(candidate.ref.id in requirements.avoided),
        "queue": _approach("queue", candidate.waiting),
        "unproven": float(candidate.receives is None),
        "degraded": float(weakness is not None),
        "flapping": _approach("flapping", candidate.flap_penalty),
        "cost": _COSTS.get(candidate.cost, 1.0),
        "capacity": _used_share(candidate),
        "spread": _approach("spread", candidate.load),
    }
    return {name: round(WEIGHTS[name].weight * share, 3) for name, share in shares.items()}


def _approach(name: str, fact: float) -> float:
    """Return a share that rises with the fact: 0 at 0, a half at `half`, and never 1."""
    fact = max(fact, 0)
    return fact / (fact + WEIGHTS[name].half)


def _used_share(candidate: Candidate) -> float:
    if candidate.capacity is None:
        return 0.5
    return min(1.0, candidate.load / candidate.capacity) if candidate.capacity > 0 else 1.0
