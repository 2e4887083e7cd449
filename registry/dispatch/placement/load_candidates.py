"""The agents that could be given a request, from the database.

A request never reads the whole table of agents. Of a large fleet it reads a random sample of the table's
blocks, a different one for each resource, and takes the best matching agents in it. Only if too few match,
indexes find those that do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import BooleanField, Case, Count, ExpressionWrapper, F, Q, Value, When
from django.db.models.functions import Coalesce, Least, Now
from django.utils.dateparse import parse_datetime

from controlplane.database.label_conditions import label_condition
from controlplane.formats import label_selectors as selectors
from registry.agents.models import Agent
from registry.agents.policies import liveness_policy
from registry.agents.querysets import late
from registry.agents.states import Cost, State
from registry.dispatch.lifecycle.records import AgentRef
from registry.dispatch.lifecycle.states import AssignmentState
from registry.dispatch.models import AssignmentRow
from registry.dispatch.placement.candidates import Candidate, Requirements, Weakness
from registry.environments.evidence import WHOLE_FLEET
from registry.environments.models import Environment
from registry.providers.health import Health

# Candidates of a request, and of an explanation; agents in a sample; matching ones that make it good enough.
MOST = 100
MOST_EXPLAINED = 500
SAMPLE = 500
ENOUGH = 25
# Once in so many attempts without an agent, the whole fleet is searched.
_SEARCH_EVERY = 8
# A fetch by HTTPS shows for this time that the agent receives its requests.
_FETCH_COUNTS_FOR = timedelta(minutes=2)
# As long as nobody has looked, an agent that registered within this time may receive messages.
_NEW_FOR = timedelta(minutes=2)
# Written as the condition of the index.
_SETTLED = ["closed", "abandoned"]


@dataclass(frozen=True, slots=True)
class Pool:
    """sampled: there are more agents than were read."""

    candidates: tuple[Candidate, ...]
    sampled: bool = False


def load_candidates(requirements: Requirements) -> list[Candidate]:
    """Return the best agents of the owner and of the platform; then some that cannot take the request."""
    return list(load_pool(requirements).candidates)


def load_pool(requirements: Requirements, *, explains: bool = False, every_owner: bool = False) -> Pool:
    """Return the agents that can take the request, the best first, and then some that cannot.

    explains: also those in other environments and with other labels. every_owner: also of other teams.
    """
    guards = engaged_guards()
    matching = _facts(_named(requirements, every_owner=every_owner))
    if not explains:
        matching = matching.filter(_place(requirements))
    ordered = matching.annotate(unable=Case(When(_able(requirements, guards), then=0), default=1)).order_by(
        "unable", "rank", "id"
    )
    size, most = _table_size(), MOST_EXPLAINED if explains else MOST
    if size > SAMPLE and not requirements.agent:
        rows = list(ordered.filter(id__in=_sample(requirements, SAMPLE / size))[:most])
        if _is_enough(rows, requirements):
            return Pool(tuple(_candidates(rows, guards)), sampled=True)
    rows = list(ordered[: most + 1])
    return Pool(tuple(_candidates(rows[:most], guards)), sampled=len(rows) > most)


def _is_enough(rows: list[Any], requirements: Requirements) -> bool:
    """True if a sample shows well enough who can take the request."""
    if len(rows) < ENOUGH:
        return False
    return rows[0].unable == 0 or requirements.tries % _SEARCH_EVERY < _SEARCH_EVERY - 1


def engaged_guards() -> frozenset[str]:
    """Return the environments under an engaged fleet guard."""
    return frozenset(Environment.objects.filter(~Q(guard_engaged_at=None)).values_list("name", flat=True))


def _named(requirements: Requirements, *, every_owner: bool = False) -> Any:
    """Return the agents that name the service type, or the required one; another team's do not exist."""
    rows: Any = Agent.objects.all() if every_owner else Agent.objects.filter(_of_owner(requirements))
    if requirements.agent:
        return rows.filter(name=requirements.agent)
    return rows.filter(service_types__contains=[requirements.service_type])


def _of_owner(requirements: Requirements) -> Q:
    return Q(team=None) | (Q(team=requirements.owner) if requirements.owner else Q(pk__in=[]))


def _place(requirements: Requirements) -> Q:
    """Match the agents in the required environment and with the required labels."""
    place = Q(environment=requirements.environment) if requirements.environment else Q()
    for term in selectors.parse(requirements.selector):
        place &= label_condition(term)
    return place


def _able(requirements: Requirements, guards: frozenset[str]) -> Q:
    """Match the agents that can take the request, by the facts that a query can judge (refusals.py)."""
    if WHOLE_FLEET in guards:
        return Q(pk__in=[])
    return (
        _of_owner(requirements)
        & _place(requirements)
        & (Q(receives=True) | Q(is_new=True))
        & (Q(is_late=False) | Q(is_late=None))
        & (Q(messaging__is_congested=False) | Q(messaging__is_congested=None))
        & Q(state=State.READY)
        & ~Q(environment__in=guards)
        & ~Q(id__in=requirements.excluded)
    )


def _facts(agents: Any) -> Any:
    """Add what is judged in SQL. rank: roughly the order of scores.py, to choose whom to read."""
    step = Case(*[When(cost=cost.value, then=index) for index, cost in enumerate(Cost)], default=len(Cost))
    waiting = Coalesce(F("messaging__pending_count") + F("messaging__unacknowledged_count"), Value(0))
    receives = Q(messaging__has_consumer=True, messaging__channel="nats") | Q(
        messaging__channel="https", messaging__fetched_at__gte=Now() - _FETCH_COUNTS_FOR
    )
    is_new = Q(messaging__checked_at=None, messaging__fetched_at=None, created_at__gte=Now() - _NEW_FOR)
    return agents.select_related("messaging").annotate(
        is_late=ExpressionWrapper(late(liveness_policy().interval), output_field=BooleanField()),
        receives=ExpressionWrapper(receives, output_field=BooleanField()),
        is_new=ExpressionWrapper(is_new, output_field=BooleanField()),
        waiting=waiting,
        now=Now(),
        generation=F("lease__generation"),
        rank=step * 10 + Least(waiting, Value(100)),
    )


def _table_size() -> float:
    """Return the planner's estimate of the number of agents; 0 or less for a small or new table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = 'registry_agent'::regclass")
        return float(cursor.fetchone()[0])


def _sample(requirements: Requirements, share: float) -> list[UUID]:
    """Return the ids of matching agents in a random share of the table's blocks.

    Each attempt at a resource has a share of its own, which is always the same.
    """
    seed = hashlib.blake2b(f"{requirements.key}\n{requirements.tries}".encode(), digest_size=4).digest()
    parameters: dict[str, Any] = {
        "percentage": min(100.0, 100 * share),
        "seed": int.from_bytes(seed),
        "types": json.dumps([requirements.service_type]),
        "environment": requirements.environment,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLE, parameters)
        return [agent_id for (agent_id,) in cursor.fetchall()]


_SAMPLE = """
SELECT id FROM registry_agent TABLESAMPLE SYSTEM (%(percentage)s) REPEATABLE (%(seed)s)
WHERE service_types @> %(types)s::jsonb AND (%(environment)s = '' OR environment = %(environment)s)
"""


def _candidates(agents: Iterable[Any], guards: frozenset[str]) -> Iterable[Candidate]:
    rows = list(agents)
    loads = _loads([agent.id for agent in rows])
    for agent in rows:
        load, unanswered = loads.get(agent.id, (0, 0))
        messaging = getattr(agent, "messaging", None)
        yield Candidate(
            AgentRef(str(agent.id), agent.name, agent.topic_name, messaging.channel if messaging else "nats"),
            agent.team_id,
            agent.environment,
            State(agent.state),
            frozenset(agent.service_types),
            agent.drain_reason if agent.state == State.DRAINING else agent.state_reason,
            agent.labels,
            agent.cost,
            bool(agent.is_late),
            _guard(agent.environment, guards),
            True if agent.receives else None if agent.is_new else False,
            bool(messaging and messaging.is_congested),
            # NATS is looked at from time to time; our own records of unanswered requests are never late.
            max(agent.waiting, unanswered),
            load,
            agent.capacity,
            agent.flap_penalty,
            _weaknesses(agent, messaging.weak_types if messaging else {}),
        )


def _loads(agent_ids: list[Any]) -> dict[Any, tuple[int, int]]:
    """Return the number of unsettled and of unanswered assignments by agent."""
    rows = (
        AssignmentRow.objects.filter(agent_id__in=agent_ids)
        .exclude(state__in=_SETTLED)
        .values("agent_id")
        .annotate(load=Count("id"), unanswered=Count("id", filter=Q(state=AssignmentState.PENDING.value)))
        .values_list("agent_id", "load", "unanswered")
    )
    return {agent_id: (load, unanswered) for agent_id, load, unanswered in rows}


def _guard(environment: str, guards: frozenset[str]) -> str:
    if WHOLE_FLEET in guards:
        return "the whole fleet"
    return environment if environment in guards else ""


def _weaknesses(agent: Any, marks: Mapping[str, Mapping[str, Any]]) -> dict[str, Weakness]:
    """Return the weak service types: those that the agent reported in messages, and by providers' health."""
    weaknesses = {name: _weakness(mark) for name, mark in marks.items() if _holds(agent, mark)}
    for condition in agent.service_type_conditions:
        name, weakness = condition["service_type"], _weakness(condition)
        if condition["status"] != Health.READY and (weakness.unavailable or name not in weaknesses):
            weaknesses[name] = weakness
    return weaknesses


def _weakness(row: Mapping[str, Any]) -> Weakness:
    return Weakness(row["status"] == Health.UNAVAILABLE, row.get("provider", ""), row.get("reason", ""))


def _holds(agent: Any, mark: Mapping[str, Any]) -> bool:
    """True unless the time of the mark has passed, or the agent has registered again since."""
    until, generation = mark.get("until"), mark.get("generation")
    end = parse_datetime(until) if isinstance(until, str) else None
    return (end is None or end > agent.now) and generation in (None, agent.generation)
