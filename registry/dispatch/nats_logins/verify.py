"""Verify logins at NATS in Postgres, many with two statements, and note each connection."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.messaging.logins.callout import LoginRequest
from registry.agents.states import State
from registry.dispatch.nats_logins.decide import LoginFacts, Verdict, judge
from registry.dispatch.nats_logins.models import NatsSession
from registry.dispatch.nats_logins.preparing import IS_MISSING, JOINS, note_prepared

_FACTS = f"""
SELECT login.digest, agent.id, agent.name, agent.state, agent.topic_name, login.serial,
       agent.registered_by IS NOT DISTINCT FROM login.principal_id AND coalesce(principal.is_active, true),
       NOT coalesce({IS_MISSING}, false)
  FROM registry_natslogin AS login
  JOIN registry_agent AS agent ON agent.id = login.agent_id
  LEFT JOIN access_principal AS principal ON principal.id = agent.registered_by {JOINS}
 WHERE login.digest = ANY(%s)
"""  # noqa: S608  (constants of ours)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login to verify. seconds: after these, the connection ends if it is accepted."""

    request: LoginRequest
    seconds: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """facts: of the agent whose password it was, if any."""

    verdict: Verdict
    facts: LoginFacts | None


def verify_logins(attempts: Sequence[Attempt], prepared: Sequence[UUID]) -> list[Outcome]:
    """Decide about logins, and note the accepted ones. prepared: serials whose consumers were created."""
    with transaction.atomic():
        if prepared:
            note_prepared(list(prepared))
        facts_by_digest = _facts({_digest(attempt) for attempt in attempts})
        outcomes = [_outcome(attempt, facts_by_digest.get(_digest(attempt))) for attempt in attempts]
        accepted = [
            _session(attempt, outcome.facts)
            for attempt, outcome in zip(attempts, outcomes, strict=True)
            if outcome.verdict is Verdict.ACCEPTED and outcome.facts
        ]
        # Before NATS admits the client: a connection is never unknown to what ends connections.
        NatsSession.objects.bulk_create(accepted, ignore_conflicts=True)
    return outcomes


def _facts(digests: set[bytes]) -> dict[bytes, LoginFacts]:
    with connection.cursor() as cursor:
        cursor.execute(_FACTS, [list(digests)])
        return {bytes(row[0]): _read(row[1:]) for row in cursor.fetchall()}


def _read(row: tuple[Any, ...]) -> LoginFacts:
    agent_id, name, state, topic, serial, is_current, is_prepared = row
    return LoginFacts(agent_id, name, State(state), topic, serial, is_current, is_prepared)


def _outcome(attempt: Attempt, facts: LoginFacts | None) -> Outcome:
    return Outcome(judge(attempt.request.user, facts), facts)


def _session(attempt: Attempt, facts: LoginFacts) -> NatsSession:
    return NatsSession(
        server_id=attempt.request.server_id,
        client_id=attempt.request.client_id,
        agent_id=facts.agent_id,
        serial=facts.serial,
        topic=facts.topic,
        expires_at=Now() + timedelta(seconds=attempt.seconds),
    )


def _digest(attempt: Attempt) -> bytes:
    # Looked up by the digest of 256 random bits, so that time reveals nothing of the password.
    return hashlib.sha256(attempt.request.password.encode("utf-8", "replace")).digest()
