"""The installation of the console's benchmark: agents in environments, projects, overrides, and the storm."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass

import psycopg

from benchmarks.database import settle
from benchmarks.dataset import DOMAINS, VALUES

SILENT_ENVIRONMENTS, OTHER_ENVIRONMENTS = 20, 5
TASK_TYPES = 40


@dataclass(frozen=True, slots=True)
class Installation:
    agents: int
    projects: int
    overrides: int

    @property
    def environments(self) -> int:
        return SILENT_ENVIRONMENTS + OTHER_ENVIRONMENTS


def load(url: str, installation: Installation) -> None:
    """Fill an empty database. Raises psycopg.Error."""
    with psycopg.connect(url) as connection:
        connection.execute(_ENVIRONMENTS, [SILENT_ENVIRONMENTS, installation.environments])
        connection.execute(_AGENTS, [OTHER_ENVIRONMENTS, SILENT_ENVIRONMENTS, installation.agents])
        connection.execute(_TASK_TYPES, [TASK_TYPES])
        connection.execute(_LEASES)
        _load_projects(connection, installation.projects)
        _load_overrides(connection, installation)
    with psycopg.connect(url, autocommit=True) as connection:
        settle(connection)


def silence(url: str) -> None:
    """Let the leases of the silent environments end, as if the network had failed a while ago."""
    with psycopg.connect(url) as connection:
        for statement in _SILENCE:
            connection.execute(statement)


def _load_projects(connection: psycopg.Connection[tuple[object, ...]], projects: int) -> None:
    with connection.cursor().copy("COPY overrides_project (id, name, description) FROM STDIN") as copy:
        for number in range(projects):
            copy.write_row((f"p{number:03}", f"Project {number}", ""))


def _load_overrides(connection: psycopg.Connection[tuple[object, ...]], installation: Installation) -> None:
    types = sorted(VALUES)
    with connection.cursor().copy(_COPY) as copy:
        for number in range(installation.overrides):
            project, round_number = number % installation.projects, number // installation.projects
            name, domain = types[round_number % len(types)], DOMAINS[round_number // len(types) % 3]
            copy.write_row(
                (
                    uuid.uuid4(),
                    name,
                    f"p{project:03}",
                    domain,
                    "",
                    "",
                    json.dumps(VALUES[name]),
                    1,
                    1,
                    "load",
                    "",
                )
            )
    connection.execute(
        "INSERT INTO overrides_revision VALUES (1, clock_timestamp(), 'load', '', '', %s, true)",
        [installation.overrides],
    )
    connection.execute("UPDATE overrides_revisioncounter SET revision = 1")


_COPY = (
    "COPY overrides_override (id, resource_type, project, domain, workflow, launch_plan, attributes, version,"
    " revision, changed_by, change_message) FROM STDIN"
)
_ENVIRONMENTS = (
    "INSERT INTO registry_environment (name) SELECT CASE WHEN n <= %s THEN 'edge-' ELSE 'core-' END"
    " || lpad(n::text, 2, '0') FROM generate_series(1, %s) AS n ON CONFLICT DO NOTHING"
)
# A thirtieth of the agents is in environments that stay heard.
_AGENTS = (
    "INSERT INTO registry_agent"
    " (id, name, environment, service_types, cost, topic_name, state, state_reason, state_since, labels)"
    " SELECT gen_random_uuid(), environment || '-agent-' || n, environment, '[\"vm\", \"database\"]', 'low',"
    " 'dcm.agent.a' || n, 'ready', 'Registered.', now() - interval '2 days',"
    " jsonb_build_object('zone', 'z' || n %% 3, 'tier', 't' || n %% 5)"
    " FROM (SELECT n, CASE WHEN n %% 30 = 0 THEN 'core-' || lpad((21 + n / 30 %% %s)::text, 2, '0')"
    " ELSE 'edge-' || lpad((1 + n %% %s)::text, 2, '0') END AS environment"
    " FROM (SELECT generate_series(1, %s) AS n) AS numbers) AS placed"
)
_TASK_TYPES = (
    "INSERT INTO registry_servedtasktype (agent_id, name, version)"
    " SELECT id, 'task_' || (abs(hashtext(id::text)) + step * 7) %% %s, ''"
    " FROM registry_agent, generate_series(0, 2) AS step ON CONFLICT DO NOTHING"
)
_LEASES = (
    "INSERT INTO registry_lease (agent_id, renewed_at, expires_at, consumer_lag, environment_id)"
    " SELECT agent.id, now(), now() + interval '1 day', 0, environment.id FROM registry_agent AS agent"
    " JOIN registry_environment AS environment ON environment.name = agent.environment"
)
_SILENCE = (
    "UPDATE registry_lease"
    " SET renewed_at = now() - interval '3 minutes', expires_at = now() - interval '1 minute'"
    " FROM registry_environment AS environment"
    " WHERE environment.id = environment_id AND environment.name LIKE 'edge-%'",
    "INSERT INTO registry_sweeprecord (id, last_sweep_at, reachable_since, live_count)"
    " VALUES (1, now(), now() - interval '1 hour', 20000) ON CONFLICT (id) DO UPDATE"
    " SET last_sweep_at = now(), reachable_since = now() - interval '1 hour'",
)
