"""Create the consumers of agents with a login, which may not create them themselves."""

from __future__ import annotations

from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerSpec
from registry.dispatch.nats_logins.decide import REQUESTS, Consumers, consumers_of
from registry.dispatch.nats_logins.models import NatsLogin

# What DCM's agents set for themselves: a handler has a minute, and a cancellation five seconds.
_ACK_SECONDS, _CANCEL_ACK_SECONDS = 120, 10
_DELIVERIES = 10
# SQL: whether the consumers are missing. A stream that is younger than they are has lost them.
IS_MISSING = """
    (login.prepared_at IS NULL OR login.prepared_at <= coalesce(stream.created_at, '-infinity')
     OR (NOT messaging.has_consumer AND login.prepared_at < messaging.checked_at))
"""
JOINS = """
    LEFT JOIN messaging_streamrecord AS stream ON stream.name = 'dcm-agent-requests'
    LEFT JOIN registry_agentmessaging AS messaging ON messaging.agent_id = login.agent_id
"""
# Of agents that are connected: others get theirs when they log in.
_MISSING = f"""
SELECT login.serial, agent.topic_name
  FROM registry_natslogin AS login JOIN registry_agent AS agent ON agent.id = login.agent_id {JOINS}
 WHERE {IS_MISSING} AND EXISTS (SELECT FROM registry_natssession AS session
                                 WHERE session.serial = login.serial AND session.expires_at > now())
 LIMIT 200
"""  # noqa: S608  (constants of ours)


def prepare(nats: NatsConnection, consumers: Consumers) -> None:
    """Create both consumers, or adjust them. Raises NatsUnavailable, NatsRefused."""
    requests, cancels = (consumers.request_subject,), (consumers.cancel_subject,)
    nats.ensure_consumer(ConsumerSpec(REQUESTS, consumers.requests, requests, _ACK_SECONDS, _DELIVERIES))
    # A cancellation must never be given up.
    nats.ensure_consumer(ConsumerSpec(REQUESTS, consumers.cancels, cancels, _CANCEL_ACK_SECONDS, -1))


def prepare_missing(nats: NatsConnection) -> int:
    """Create consumers that connected agents have lost, as when NATS was emptied; return of how many.

    Raises NatsUnavailable, NatsRefused.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MISSING)
        missing = cursor.fetchall()
    for serial, topic in missing:
        consumers = consumers_of(topic)
        if consumers is not None:
            prepare(nats, consumers)
            note_prepared([serial])
    return len(missing)


def note_prepared(serials: list[UUID]) -> None:
    """Note that the consumers of these logins were created."""
    NatsLogin.objects.filter(serial__in=serials).update(prepared_at=Now())
