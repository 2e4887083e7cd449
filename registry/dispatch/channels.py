"""How an agent gets its requests: by NATS, or by HTTPS once it fetches them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from controlplane.events import log
from controlplane.identity.actors import system
from controlplane.messaging.outbox import HTTPS, NATS
from registry.agents.models import Agent
from registry.dispatch.event_types import AGENT_REQUESTS_WAITING
from registry.dispatch.models import AgentMessaging

# An agent that has not fetched for this long receives nothing.
FETCHES_FOR = timedelta(seconds=120)
_NOTED_EVERY = timedelta(seconds=5)
_ACTOR = system("dispatch").name


def note_fetch(agent: Agent) -> None:
    """Note that the agent fetches its requests by HTTPS, at most every few seconds. Needs a transaction."""
    messaging = AgentMessaging.objects.filter(agent=agent)
    is_noted = messaging.filter(channel=HTTPS, fetched_at__gt=Now() - _NOTED_EVERY).exists()
    if is_noted:
        return
    AgentMessaging.objects.get_or_create(agent=agent)
    messaging.update(channel=HTTPS, fetched_at=Now())
    move(agent, HTTPS)


def use_nats(agent: Agent) -> None:
    """Send the agent its requests by NATS from now on. Needs a transaction."""
    changed = AgentMessaging.objects.filter(agent=agent).exclude(channel=NATS).update(channel=NATS)
    if changed:
        move(agent, NATS)


def move(agent: Agent, channel: str) -> int:
    """Move the agent's unsettled assignments and messages to the channel and to its present topic.

    Locked rows are left for the next call. Returns the number of messages.
    """
    with connection.cursor() as cursor:
        names: dict[str, Any] = {"agent": agent.id, "channel": channel, "topic": agent.topic_name}
        cursor.execute(_MOVE_ASSIGNMENTS, names)
        cursor.execute(_MOVE_MESSAGES, names)
        return int(cursor.rowcount)


def lease_messages(agent: Agent, *, limit: int, seconds: int) -> list[UUID]:
    """Lease messages to the agent and return their ids: cancels first, then the oldest.

    A cancel never waits. Of all other messages about one resource, only the first unsettled one is leased.
    """
    topic = agent.topic_name
    names: dict[str, Any] = {"agent": agent.id, "topic": topic, "cancel": f"{topic}.cancel", "limit": limit}
    with connection.cursor() as cursor:
        cursor.execute(_LEASE, {**names, "seconds": seconds})
        # RETURNING has no order.
        rows = sorted(cursor.fetchall(), key=lambda row: (row[2] == topic, row[1]))
    return [row[0] for row in rows]


def announce(agent_ids: Collection[UUID]) -> None:
    """Wake up the long polls of these agents. Needs a transaction."""
    for agent in Agent.objects.filter(id__in=agent_ids).order_by("id"):
        log.append(
            AGENT_REQUESTS_WAITING,
            "agent",
            str(agent.id),
            data={"agent_id": str(agent.id), "name": agent.name, "environment": agent.environment},
            actor=_ACTOR,
            team_id=agent.team_id,
        )


_MOVE_ASSIGNMENTS = """
UPDATE registry_assignment SET channel = %(channel)s, topic = %(topic)s WHERE id IN (
    SELECT id FROM registry_assignment
    WHERE agent_id = %(agent)s AND state NOT IN ('closed', 'abandoned')
      AND (channel, topic) IS DISTINCT FROM (%(channel)s, %(topic)s)
    FOR UPDATE SKIP LOCKED
)
"""
_MOVE_MESSAGES = """
UPDATE messaging_outboxmessage SET
    channel = %(channel)s,
    destination = CASE WHEN destination LIKE '%%.cancel' THEN %(topic)s || '.cancel' ELSE %(topic)s END,
    sent_at = NULL, leased_until = NULL
WHERE position IN (
    SELECT message.position
    FROM registry_assignment assignment
    JOIN messaging_outboxmessage message
      ON message.order_key = 'resource:' || assignment.resource_id
     AND (message.data->>'epoch')::int = assignment.epoch
    WHERE assignment.agent_id = %(agent)s AND assignment.state NOT IN ('closed', 'abandoned')
      AND message.settled_at IS NULL
      AND (message.channel <> %(channel)s OR message.destination NOT IN (%(topic)s, %(topic)s || '.cancel'))
    FOR UPDATE OF message SKIP LOCKED
)
"""
# The assignment shows that the message is for this agent, and not for a former one with the same topic.
_LEASE = """
UPDATE messaging_outboxmessage SET
    leased_until = statement_timestamp() + %(seconds)s * interval '1 second',
    sent_at = statement_timestamp(), attempts = attempts + 1
WHERE position IN (
    SELECT message.position FROM messaging_outboxmessage message
    WHERE message.channel = 'https' AND message.settled_at IS NULL
      AND message.destination IN (%(topic)s, %(cancel)s)
      AND (message.leased_until IS NULL OR message.leased_until < statement_timestamp())
      AND EXISTS (
        SELECT FROM registry_assignment assignment
        WHERE assignment.agent_id = %(agent)s
          AND message.order_key = 'resource:' || assignment.resource_id
          AND (message.data->>'epoch')::int = assignment.epoch
      )
      AND (message.destination = %(cancel)s OR NOT EXISTS (
        SELECT FROM messaging_outboxmessage earlier
        WHERE earlier.order_key = message.order_key AND earlier.settled_at IS NULL
          AND earlier.channel = 'https' AND earlier.destination IN (%(topic)s, %(cancel)s)
          AND earlier.position < message.position
      ))
    ORDER BY message.destination = %(topic)s, message.position
    LIMIT %(limit)s
    FOR UPDATE OF message SKIP LOCKED
)
RETURNING id, position, destination
"""
