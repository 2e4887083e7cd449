"""End connections of agents to NATS that are no longer allowed: of revoked logins, retired agents and so on.

Postgres is the record, so that any process can revoke and any process can end.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection, transaction

from controlplane.database.locks import AdvisoryLock, try_lock
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import NatsRefused, NatsUnavailable
from registry.dispatch.nats_logins.metrics import NATS_SESSIONS_ENDED
from registry.dispatch.nats_logins.models import NatsLogin, NatsSession
from registry.dispatch.nats_logins.preparing import prepare_missing

_log = logging.getLogger(__name__)
_PAUSE_SECONDS = 1.0
_KICK_SECONDS = 1.0
# Of one agent; the oldest ones end. Those that ended themselves count until they expire.
MOST_SESSIONS = 16
# Taken with a new time before each attempt, so that a server that cannot be reached delays nobody.
_DUE = """
WITH sessions AS (
    SELECT *, row_number() OVER (PARTITION BY agent_id ORDER BY id DESC) AS place FROM registry_natssession
), due AS (
    SELECT sessions.id
      FROM sessions
      LEFT JOIN registry_natslogin AS login USING (agent_id, serial)
      LEFT JOIN registry_agent AS agent ON agent.id = sessions.agent_id
      LEFT JOIN access_principal AS principal ON principal.id = agent.registered_by
     WHERE (login.serial IS NULL OR agent.state IN ('registered', 'retired')
            OR agent.topic_name <> sessions.topic OR NOT coalesce(principal.is_active, true)
            OR agent.registered_by IS DISTINCT FROM login.principal_id OR place > %s)
       AND (tried_at IS NULL OR tried_at < now() - interval '2 seconds')
     ORDER BY sessions.tried_at NULLS FIRST
     LIMIT 500
)
UPDATE registry_natssession SET tried_at = now() FROM due WHERE due.id = registry_natssession.id
RETURNING registry_natssession.id, server_id, client_id
"""
# The clock of NATS may be late.
_FORGET = "DELETE FROM registry_natssession WHERE expires_at < now() - interval '5 minutes'"


@dataclass(frozen=True, slots=True)
class Ending:
    """A connection to end."""

    id: int
    server_id: str
    client_id: int


def end_sessions(nats: NatsConnection, stopping: threading.Event) -> None:
    """End what must end, every second until `stopping`."""
    if not settings.NATS_ISSUER_SEED:
        stopping.wait()
        return
    while not stopping.wait(_PAUSE_SECONDS):
        try:
            close_old_connections()
            end_due_sessions(nats)
            if nats.connected:
                prepare_missing(nats)
        except (DatabaseError, InterfaceError, NatsUnavailable, NatsRefused) as error:
            _log.warning("nats_sessions_not_ended", extra={"error": str(error)})
            connection.close()
    connection.close()


def end_due_sessions(nats: NatsConnection) -> int:
    """End all connections that must end now; return how many ended."""
    ended = []
    for ending in _take_due():
        if not nats.connected:
            break
        if _kick(nats, ending):
            ended.append(ending.id)
    if ended:
        NatsSession.objects.filter(id__in=ended).delete()
        NATS_SESSIONS_ENDED.inc(len(ended))
    return len(ended)


@transaction.atomic
def _take_due() -> Sequence[Ending]:
    # One process at a time reads the table.
    if not try_lock(AdvisoryLock.NATS_SESSIONS):
        return []
    # Consumers of a retired agent are deleted; its next login creates them again.
    retired = NatsLogin.objects.filter(agent__state="retired").exclude(prepared_at=None)
    retired.update(prepared_at=None)
    with connection.cursor() as cursor:
        cursor.execute(_FORGET)
        cursor.execute(_DUE, [MOST_SESSIONS])
        return [Ending(*row) for row in cursor.fetchall()]


def _kick(nats: NatsConnection, ending: Ending) -> bool:
    """Have NATS' server end the connection; return whether it is gone."""
    body = json.dumps({"cid": ending.client_id}).encode()
    try:
        # Its error says that there is no such client: it is gone too.
        nats.request(f"$SYS.REQ.SERVER.{ending.server_id}.KICK", body, timeout=_KICK_SECONDS)
    except NatsUnavailable:
        # The server was restarted, and its clients with it, or cannot be reached now.
        return False
    return True
