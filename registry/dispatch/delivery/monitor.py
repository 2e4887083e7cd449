"""Monitor of the agents' consumers in NATS: who receives requests, and who has too many of them.

Congestion is measured here. The lag that an agent reports in a heartbeat is a hint.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections, transaction
from django.db import connection as database

from controlplane.cluster.leadership import Role, lead
from controlplane.database.bulk import recordset
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import ConsumerFacts, NatsRefused, NatsUnavailable
from controlplane.messaging.streams import REQUESTS
from registry.dispatch.delivery.purge import purge_absent_agents

log = structlog.get_logger(__name__)
TOPICS = "dcm.agent."
_PAUSE_SECONDS = 5.0
# Of a large fleet, the consumers are read less often: a sixth of the time at most is spent on it.
_PAUSE_FACTOR = 5
_PURGE_SECONDS = 60.0
# Longer than the pauses of all but the largest fleets. Two processes that take turns do no harm.
_LEASE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Reading:
    """An agent's consumer. pending: not delivered yet; unacknowledged: delivered, without an answer.

    is_listening: whether the agent waits for requests at this moment; not while it handles one.
    """

    topic: str
    pending: int
    unacknowledged: int
    is_listening: bool

    @property
    def lag(self) -> int:
        return self.pending + self.unacknowledged


def is_congested(lag: int, *, was_congested: bool, threshold: int) -> bool:
    """True at the threshold, and from then on until less than half of it is left. Pure.

    The statement below decides in the same way; a test compares the two.
    """
    return 2 * lag >= threshold if was_congested else lag >= threshold


def watch_consumers(connection: NatsConnection, stopping: threading.Event) -> None:
    """Measure and purge until the process ends. One process at a time does it."""
    pause, purged_at = 0.0, -_PURGE_SECONDS
    try:
        while not stopping.wait(pause):
            started = time.monotonic()
            try:
                purges = started >= purged_at + _PURGE_SECONDS
                measure(connection, purges=purges)
                purged_at = started if purges else purged_at
            except (DatabaseError, InterfaceError, NatsUnavailable, NatsRefused) as error:
                log.warning("dispatch.monitor_failed", error=str(error))
                connections.close_all()
            pause = max(_PAUSE_SECONDS, _PAUSE_FACTOR * (time.monotonic() - started))
    finally:
        connections.close_all()


def measure(connection: NatsConnection, *, purges: bool) -> int:
    """Read all consumers, and write what changed; return how many agents that were.

    Without effect while another process does it.
    """
    if not _leads():
        return 0
    consumers = connection.consumers(REQUESTS)
    with transaction.atomic():
        # Who was suspended meanwhile writes nothing old over what its successor has read.
        if not _leads():
            return 0
        changed = write_readings(readings(consumers), threshold=settings.CONGESTION_LAG)
    purged = purge_absent_agents(connection, consumers) if purges else 0
    if changed or purged:
        log.info("dispatch.consumers_measured", changed=changed, purged=purged, consumers=len(consumers))
    return changed


def _leads() -> bool:
    return lead(Role.CONSUMER_MONITOR, lease=_LEASE) is not None


def readings(consumers: Iterable[ConsumerFacts]) -> list[Reading]:
    """Return the consumers through which agents receive requests. Pure."""
    return [
        Reading(consumer.filter_subject, consumer.pending, consumer.ack_pending, consumer.waiting > 0)
        for consumer in consumers
        if consumer.filter_subject.startswith(TOPICS)
        and consumer.name == f"{consumer.filter_subject.removeprefix(TOPICS)}-consumer"
    ]


@transaction.atomic
def write_readings(measured: Iterable[Reading], *, threshold: int) -> int:
    """Write the rows that differ, of all agents; return how many."""
    rows = [
        {"t": row.topic, "p": row.pending, "u": row.unacknowledged, "l": row.is_listening} for row in measured
    ]
    with database.cursor() as cursor:
        # At first, a row for each agent is inserted.
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(_WRITE, {"rows": recordset(rows), "threshold": threshold})
        return int(cursor.rowcount)


# An agent that fetches its requests by HTTPS may have a consumer, which does not count.
_WRITE = """
WITH measured AS (
    SELECT agent.id AS agent_id, r.t IS NOT NULL AS has_consumer,
           coalesce(r.p, 0) AS pending, coalesce(r.u, 0) AS unacknowledged, coalesce(r.l, false) AS listening,
           CASE WHEN coalesce(old.is_congested, false)
                THEN 2 * (coalesce(r.p, 0) + coalesce(r.u, 0)) >= %(threshold)s
                ELSE coalesce(r.p, 0) + coalesce(r.u, 0) >= %(threshold)s END AS congested,
           old.agent_id IS NULL AS is_new,
           old.has_consumer AS old_consumer, old.pending_count AS old_pending,
           old.unacknowledged_count AS old_unacknowledged, old.is_congested AS old_congested,
           old.is_listening AS old_listening
      FROM registry_agent AS agent
      LEFT JOIN registry_agentmessaging AS old ON old.agent_id = agent.id
      LEFT JOIN json_to_recordset(%(rows)s) AS r (t text, p bigint, u bigint, l boolean)
             ON r.t = agent.topic_name
)
INSERT INTO registry_agentmessaging AS row
    (agent_id, has_consumer, pending_count, unacknowledged_count, is_congested, is_listening, checked_at)
SELECT agent_id, has_consumer, pending, unacknowledged, congested, listening, statement_timestamp()
  FROM measured
 WHERE is_new OR (has_consumer, pending, unacknowledged, congested, listening)
       IS DISTINCT FROM (old_consumer, old_pending, old_unacknowledged, old_congested, old_listening)
 ORDER BY agent_id
    ON CONFLICT (agent_id) DO UPDATE
   SET has_consumer = excluded.has_consumer, pending_count = excluded.pending_count,
       unacknowledged_count = excluded.unacknowledged_count, is_congested = excluded.is_congested,
       is_listening = excluded.is_listening, checked_at = excluded.checked_at
"""
