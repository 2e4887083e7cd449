"""A fleet behind gateways: a team, a gateway's token and an environment for each share of its agents."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

import psycopg

from benchmarks.database import settle
from benchmarks.fleet import Beating
from controlplane.access.tokens import Prefix, new_token


@dataclass(frozen=True, slots=True)
class GatewayAccount:
    """A gateway's own team, which owns the agents of its environment, and its token."""

    number: int
    team: uuid.UUID
    principal: uuid.UUID
    token: str


@dataclass(frozen=True, slots=True)
class MillionFleet:
    """accounts: one for each environment. operator: a token for all agents.

    single: agents with tokens of their own.
    """

    accounts: list[GatewayAccount]
    operator: str
    single: list[Beating]


def load(url: str, agents: int, *, gateways: int, single: int) -> MillionFleet:
    """Fill an empty database. Every tenth agent is to fall silent. Raises psycopg.Error."""
    accounts = [
        GatewayAccount(number, uuid.uuid4(), uuid.uuid4(), new_token(Prefix.PERSONAL))
        for number in range(gateways)
    ]
    fleet = MillionFleet(
        accounts,
        new_token(Prefix.PERSONAL),
        [Beating(uuid.uuid4(), new_token(Prefix.AGENT)) for _ in range(single)],
    )
    with psycopg.connect(url) as connection:
        _copy(connection, fleet)
        connection.execute(
            "INSERT INTO bench_fleet (agent, environment, falls_silent)"
            " SELECT gen_random_uuid(), n %% %s, n / %s %% 10 = 0 FROM generate_series(1, %s) AS n",
            [gateways, gateways, agents - single],
        )
        for statement in _FILL:
            connection.execute(statement)
    with psycopg.connect(url, autocommit=True) as connection:
        settle(connection)
    return fleet


def members(url: str, environment: int | None, *, silent: bool) -> list[str]:
    """Return the agents behind a gateway, or behind all, that fall silent, or that do not."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT agent::text FROM bench_fleet WHERE digest IS NULL AND falls_silent = %s"
            " AND (%s::int IS NULL OR environment = %s)",
            [silent, environment, environment],
        )
        return [str(agent) for (agent,) in rows]


def _copy(connection: psycopg.Connection[tuple[object, ...]], fleet: MillionFleet) -> None:
    connection.execute(
        "CREATE TABLE bench_fleet"
        " (n serial, agent uuid, digest bytea, environment int, falls_silent boolean DEFAULT false)"
    )
    connection.execute("CREATE TABLE bench_gateway (number int, team uuid, principal uuid, digest bytea)")
    with connection.cursor().copy("COPY bench_fleet (agent, digest, environment) FROM STDIN") as copy:
        for n, agent in enumerate(fleet.single):
            copy.write_row((agent.agent, agent.digest, n % len(fleet.accounts)))
    with connection.cursor().copy("COPY bench_gateway FROM STDIN") as copy:
        for account in fleet.accounts:
            copy.write_row((account.number, account.team, account.principal, _digest(account.token)))
        copy.write_row((None, None, uuid.uuid4(), _digest(fleet.operator)))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


_PRINCIPALS = (
    "SELECT agent AS principal, 'p' || n AS name, 'agent' AS kind, digest, NULL::uuid AS team"
    " FROM bench_fleet WHERE digest IS NOT NULL"
)
_SERVICES = (
    "SELECT principal, coalesce('g' || number, 'operator'), 'service', digest, team FROM bench_gateway"
)
_FILL = (
    "INSERT INTO registry_environment (name) SELECT 'e' || number FROM bench_gateway WHERE number IS NOT NULL"
    " ON CONFLICT DO NOTHING",
    "INSERT INTO access_team (id, slug, title, version, created_at) SELECT team, 't' || number, '', 1, now()"
    " FROM bench_gateway WHERE team IS NOT NULL",
    f"CREATE TEMP TABLE bench_principal AS {_PRINCIPALS} UNION ALL {_SERVICES}",
    "INSERT INTO access_principal (id, name, kind, is_active, password)"
    " SELECT principal, name, kind, true, '' FROM bench_principal",
    "INSERT INTO access_token (id, principal_id, name, hint, digest)"
    " SELECT gen_random_uuid(), principal, 't', 'cp_', digest FROM bench_principal",
    "INSERT INTO access_rolebinding "
    " (id, principal_id, role, owned_by_id, domain, project, workflow, launch_plan)"
    " SELECT gen_random_uuid(), principal, CASE kind WHEN 'agent' THEN 'agent' ELSE 'operator' END, team,"
    " '', '', '', '' FROM bench_principal",
    "INSERT INTO registry_agent"
    " (id, name, environment, service_types, cost, topic_name, state, state_reason, registered_by, team_id)"
    " SELECT agent, 'a' || n, 'e' || bench_fleet.environment, '[\"vm\"]', 'low', 'dcm.agent.a' || n, 'ready',"
    " '',"
    " CASE WHEN bench_fleet.digest IS NULL THEN principal ELSE agent END,"
    " CASE WHEN bench_fleet.digest IS NULL THEN team END"
    " FROM bench_fleet JOIN bench_gateway ON number = bench_fleet.environment",
    "INSERT INTO registry_lease"
    " (agent_id, renewed_at, expires_at, consumer_lag, environment_id, token_digest)"
    " SELECT agent, now(), now() + interval '1 hour', 0, environment.id, digest FROM bench_fleet"
    " JOIN registry_environment AS environment ON environment.name = 'e' || bench_fleet.environment",
    "UPDATE registry_sweeprecord SET live_count = (SELECT count(*) FROM bench_fleet)",
)
# Questions about the fleet.
MARKED = "SELECT coalesce(sum(step), 0) FROM registry_agenttally WHERE state = 'unavailable'"
WRONG = """
SELECT count(*) FROM registry_agent JOIN bench_fleet ON agent = id
WHERE (state = 'unavailable') <> falls_silent OR state NOT IN ('ready', 'unavailable')
"""
SWEPT = """
SELECT extract(epoch FROM min(at))::float8, extract(epoch FROM max(at))::float8, count(*)
FROM events_event WHERE type = 'agent.unavailable'
"""
EXPIRED = """
SELECT extract(epoch FROM max(expires_at)) FROM registry_lease JOIN bench_fleet ON agent = agent_id
WHERE falls_silent
"""
RENEWED = """
SELECT count(*) FILTER (WHERE renewed_at >= %(since)s), count(*) FILTER (WHERE renewed_at = acknowledged_at),
    count(*)
FROM registry_lease LEFT JOIN bench_acknowledged USING (agent_id) JOIN bench_fleet ON agent = agent_id
WHERE digest IS NULL
"""
