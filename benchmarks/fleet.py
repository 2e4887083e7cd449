"""The fleet: agents with a principal and a token each, and their leases, loaded with COPY and SQL."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

import psycopg

from benchmarks.database import settle
from controlplane.access.tokens import Prefix, new_token

_BODY = b'{"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}'


@dataclass(frozen=True, slots=True)
class Beating:
    """An agent that the client beats for."""

    agent: uuid.UUID
    token: str

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.token.encode()).digest()

    def request(self) -> bytes:
        return (
            f"PUT /api/v1/agents/{self.agent}/heartbeat HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(_BODY)}\r\n\r\n"
        ).encode() + _BODY


def load(url: str, agents: int, beating: int) -> list[Beating]:
    """Fill an empty database; return those of the agents whose tokens are known. Raises psycopg.Error."""
    fleet = [Beating(uuid.uuid4(), new_token(Prefix.AGENT)) for _ in range(beating)]
    with psycopg.connect(url) as connection:
        _name(connection, fleet)
        connection.execute(
            "INSERT INTO bench_fleet (agent) SELECT gen_random_uuid() FROM generate_series(1, %s)",
            [agents - beating],
        )
        for statement in _FILL:
            connection.execute(statement)
    with psycopg.connect(url, autocommit=True) as connection:
        settle(connection)
    return fleet


def load_join_token(url: str, uses: int) -> str:
    """A join token with so many uses, for any name. Raises psycopg.Error."""
    secret = new_token(Prefix.JOIN)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO registry_jointoken (id, name, hint, digest, name_pattern, environment,"
            " service_types, needs_approval, may_take_over, uses_left, created_by, expires_at)"
            " VALUES (gen_random_uuid(), 'storm', 'cp_joi_', %s, '*', '', '[]', false, false, %s, 'bench',"
            " now() + interval '1 day')",
            [hashlib.sha256(secret.encode()).digest(), uses],
        )
    return secret


def _name(connection: psycopg.Connection[tuple[object, ...]], fleet: list[Beating]) -> None:
    connection.execute("CREATE TABLE bench_fleet (n serial, agent uuid, digest bytea)")
    with connection.cursor().copy("COPY bench_fleet (agent, digest) FROM STDIN") as copy:
        for agent in fleet:
            copy.write_row((agent.agent, agent.digest))


# The id of an agent is the id of its principal too: that spares a join here.
_PRINCIPALS = (
    "INSERT INTO access_principal (id, name, kind, is_active, password)"
    " SELECT agent, 'p' || n, 'agent', true, '' FROM bench_fleet WHERE digest IS NOT NULL",
    "INSERT INTO access_token (id, principal_id, name, hint, digest)"
    " SELECT gen_random_uuid(), agent, 't', 'cp_agt_', digest FROM bench_fleet WHERE digest IS NOT NULL",
    "INSERT INTO access_rolebinding (id, principal_id, role, domain, project, workflow, launch_plan)"
    " SELECT gen_random_uuid(), agent, 'agent', '', '', '', '' FROM bench_fleet WHERE digest IS NOT NULL",
)
_FILL = (
    "INSERT INTO registry_environment (name) SELECT 'e' || n FROM generate_series(0, 99) AS n"
    " ON CONFLICT DO NOTHING",
    *_PRINCIPALS,
    "INSERT INTO registry_agent"
    " (id, name, environment, service_types, cost, topic_name, state, state_reason, registered_by)"
    " SELECT agent, 'a' || n, 'e' || n % 100, '[\"vm\"]', 'low', 'dcm.agent.a' || n, 'ready', '', agent"
    " FROM bench_fleet",
    "INSERT INTO registry_lease"
    " (agent_id, renewed_at, expires_at, consumer_lag, environment_id, token_digest)"
    " SELECT agent, now(), now() + interval '1 day', 0, environment.id, digest FROM bench_fleet"
    " JOIN registry_environment AS environment ON environment.name = 'e' || bench_fleet.n % 100",
)
