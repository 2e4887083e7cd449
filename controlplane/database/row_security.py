"""Row-level security of Postgres between organisations: defence in depth beneath the rules of access.

A transaction that sets `app.organisation` sees and changes rows of that organisation and of the installation
as a whole, such as global overrides. Without it, as in workers, all rows are visible. Policies bind the roles
of web and worker, which own no table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

_BY_PROJECT = "(project = '' OR access_has_project(project))"
_BY_TEAM = "(team_id IS NULL OR access_has_team(team_id))"
# Table: the condition under which a tenant sees a row.
_VISIBLE: Mapping[str, str] = {
    "access_team": "access_is_ours(organisation_id)",
    "access_organisationproject": "access_is_ours(organisation_id)",
    "overrides_project": "access_has_project(id)",
    "overrides_override": _BY_PROJECT,
    "overrides_overrideversion": _BY_PROJECT,
    "overrides_guardrailrow": _BY_PROJECT,
    "overrides_overridefreeze": _BY_PROJECT,
    "overrides_overridechange": _BY_PROJECT,
    "overrides_approvalpolicy": _BY_PROJECT,
    "overrides_changerequest": _BY_PROJECT,
    "flyte_execution": _BY_PROJECT,
    "registry_agent": _BY_TEAM,
    "registry_jointoken": _BY_TEAM,
    "registry_agentbulkchange": _BY_TEAM,
    "registry_agentbulkchangeitem": _BY_TEAM,
    "registry_dataplane": _BY_TEAM,
    "registry_agentconfig": "access_has_team_named(team)",
    "registry_teampublishing": "access_has_team(team_id)",
    "registry_resource": f"({_BY_PROJECT} AND {_BY_TEAM})",
    "messaging_deadletter": _BY_TEAM,
    "pools_pool": _BY_TEAM,
    "delivery_sink": _BY_TEAM,
    "events_event": f"({_BY_PROJECT} AND {_BY_TEAM})",
    "access_auditrecord": f"({_BY_PROJECT} AND {_BY_TEAM})",
}
# SECURITY DEFINER: they read the tables that the policies hide.
_FUNCTIONS = """
CREATE OR REPLACE FUNCTION access_organisation() RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT nullif(current_setting('app.organisation', true), '')::uuid
$$;
CREATE OR REPLACE FUNCTION access_is_ours(owner uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT access_organisation() IS NULL OR owner = access_organisation()
$$;
CREATE OR REPLACE FUNCTION access_has_project(name text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT access_organisation() IS NULL OR EXISTS (
        SELECT FROM access_organisationproject AS ours
        WHERE ours.project = name AND ours.organisation_id = access_organisation())
$$;
CREATE OR REPLACE FUNCTION access_has_team(owner uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT access_organisation() IS NULL OR EXISTS (
        SELECT FROM access_team AS ours
        WHERE ours.id = owner AND ours.organisation_id = access_organisation())
$$;
CREATE OR REPLACE FUNCTION access_has_team_named(name text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT access_organisation() IS NULL OR EXISTS (
        SELECT FROM access_team AS ours
        WHERE ours.slug = name AND ours.organisation_id = access_organisation())
$$;
"""
_PRESENT = """
SELECT class.relname, obj_description(policy.oid, 'pg_policy')
  FROM pg_class AS class
  LEFT JOIN pg_policy AS policy ON policy.polrelid = class.oid AND policy.polname = 'organisations'
 WHERE class.relnamespace = 'public'::regnamespace AND class.relname = ANY(%s)
"""


class Cursor(Protocol):
    """What both Django's and psycopg's cursors can do."""

    def execute(self, query: str, params: Any = None) -> Any: ...

    def fetchall(self) -> list[Any]: ...


def set_row_security(cursor: Cursor, *, is_on: bool) -> None:
    """Turn the policies on or off, as the owner of the tables.

    Tables that have the right policy already are not locked.
    """
    if is_on:
        cursor.execute(_FUNCTIONS)
    cursor.execute(_PRESENT, [list(_VISIBLE)])
    for table, condition in cursor.fetchall():
        expected = _VISIBLE[table] if is_on else None
        if condition != expected:
            for statement in _statements(table, expected):
                cursor.execute(statement)


def _statements(table: str, condition: str | None) -> Iterable[str]:
    yield f"DROP POLICY IF EXISTS organisations ON {table}"
    if condition is None:
        yield f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"
        return
    # Roles decide what a tenant may add. A new project gets its organisation after its row.
    yield f"CREATE POLICY organisations ON {table} USING ({condition}) WITH CHECK (true)"
    quoted = condition.replace("'", "''")
    yield f"COMMENT ON POLICY organisations ON {table} IS '{quoted}'"
    yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
