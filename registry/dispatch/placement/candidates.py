"""What placement knows of a request and of the agents. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from registry.agents.states import State
from registry.dispatch.lifecycle.records import AgentRef


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a request requires of its agent.

    owner: the team that owns the resource; None: the platform. environment, agent: by name; empty: any.
    selector: over labels, as in lists of agents. excluded: agents with an unsettled assignment of it.
    avoided: agents that had it before, and are taken only if no other can. key: decides between equal agents;
    the resource's id, or its service type and scope. tries: attempts so far that had no agent.
    """

    service_type: str
    owner: UUID | None = None
    environment: str = ""
    agent: str = ""
    selector: str = ""
    excluded: frozenset[str] = frozenset()
    avoided: frozenset[str] = frozenset()
    key: str = ""
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Weakness:
    """Why a service type of an agent is limited. source: the provider, or the agent, that reported it."""

    unavailable: bool
    source: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An agent, as placement sees it.

    service_types: that it names. weaknesses: by service type. guard: the name of an engaged fleet guard over
    it: its environment's, or the whole fleet's. receives: it has a consumer, or fetches by HTTPS; None if it
    is too new to know. waiting: its unread and unanswered messages. load: its unsettled assignments.
    capacity: how many it takes; None if it does not report that.
    """

    ref: AgentRef
    owner: UUID | None
    environment: str
    state: State
    service_types: frozenset[str]
    state_reason: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    cost: str = "medium"
    late: bool = False
    guard: str = ""
    receives: bool | None = True
    congested: bool = False
    waiting: int = 0
    load: int = 0
    capacity: int | None = None
    flap_penalty: float = 0.0
    weaknesses: Mapping[str, Weakness] = field(default_factory=dict)


class Obstacle(StrEnum):
    """Why an agent cannot take a request, in words that name no agent and no number."""

    TYPE = "without the service type"
    PROVIDER = "without an available provider"
    STATE = "not ready"
    LATE = "late with heartbeats"
    ENVIRONMENT = "in another environment"
    NAME = "not the required agent"
    LABELS = "without the required labels"
    OWNER = "of another team"
    FULL = "full"
    CONGESTED = "congested"
    UNSETTLED = "not finished with an earlier attempt"
    GUARD = "under an engaged fleet guard"
    DEAF = "not receiving messages"
    POLICY = "rejected by the placement policy"


@dataclass(frozen=True, slots=True)
class Refusal:
    """text: a sentence with the fact, for callers that may read the agent."""

    obstacle: Obstacle
    text: str


@dataclass(frozen=True, slots=True)
class AgentVerdict:
    """refusals: why the agent cannot have it, empty if it can. score: lower is better; the parts by name."""

    agent: AgentRef
    refusals: tuple[Refusal, ...]
    score: Mapping[str, float] = field(default_factory=dict)
    owner: UUID | None = None

    @property
    def total(self) -> float:
        return round(sum(self.score.values()), 3)


@dataclass(frozen=True, slots=True)
class Ruling:
    """A policy's answer on the agents named in `known`. reject: reasons by agent. choose: an agent's name.

    deny: why no agent may have it; also if the policy could not be reached.
    """

    known: frozenset[str]
    reject: Mapping[str, str] = field(default_factory=dict)
    choose: str = ""
    deny: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """chosen: None if no agent can take it; reason says why, or why this one. verdicts: of all candidates.

    sampled: the candidates are a sample of a large fleet.
    """

    chosen: Candidate | None
    reason: str
    verdicts: tuple[AgentVerdict, ...] = ()
    sampled: bool = False
