"""Roles in Postgres: one that owns and migrates the tables, and two that can only access rows.

Web and worker are neither owner nor superuser: they cannot change tables, and append-only tables stay so.
Imports no Django: `make up` needs this before there are settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from psycopg import sql

from controlplane.database.locks import AdvisoryLock

MIGRATOR = "controlplane_migrator"
WEB = "controlplane_web"
WORKER = "controlplane_worker"
APPLICATION = (WEB, WORKER)
ROLES = (MIGRATOR, *APPLICATION)

_ROW_RIGHTS = "SELECT, INSERT, UPDATE, DELETE"
# Instead of _ROW_RIGHTS. Events get their numbers after their rows are written.
_RESTRICTED_RIGHTS: Mapping[str, Mapping[str, str]] = {
    "access_auditrecord": dict.fromkeys(APPLICATION, "SELECT, INSERT"),
    "events_event": dict.fromkeys(APPLICATION, "SELECT, INSERT, UPDATE (seq)"),
    # Only the function that drops a partition changes these two.
    "events_compaction": dict.fromkeys(APPLICATION, "SELECT"),
    "access_auditseal": {WEB: "SELECT", WORKER: "SELECT, INSERT"},
    "access_auditsegment": {WEB: "SELECT", WORKER: "SELECT, INSERT"},
    "django_migrations": dict.fromkeys(APPLICATION, "SELECT"),
    # Only an operator pauses changes.
    "installation_pause": dict.fromkeys(APPLICATION, "SELECT"),
    # Only the console uses sessions, and only the API changes who may do what.
    "django_session": {WORKER: ""},
    "access_rolebinding": {WORKER: "SELECT"},
    "access_membership": {WORKER: "SELECT"},
    "access_customrole": {WORKER: "SELECT"},
}
# Functions of retention, which run with the migrator's rights, and who may call them.
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "retention_make_partition": (WORKER,),
    "retention_adopt_default": (WORKER,),
    "retention_drop_partition": (WORKER,),
    "retention_remove_boundary": (WORKER,),
    "retention_default_rows": APPLICATION,
}
# Rows of a partition are reached through its log, whose rights and policies apply.
_PARTITIONS = """
SELECT oid::regclass::text FROM pg_class
 WHERE relispartition AND relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
_FOREIGN_OBJECTS = """
WITH ours AS (SELECT oid FROM pg_namespace WHERE nspname = 'public'),
     migrator AS (SELECT oid FROM pg_roles WHERE rolname = %(migrator)s),
     extension_members AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e')
SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                    ELSE 'TABLE' END AS kind, oid::regclass::text AS name
  FROM pg_class
 WHERE relnamespace IN (TABLE ours) AND relowner NOT IN (TABLE migrator) AND relkind IN ('r','p','v','m','S')
   AND ('pg_class'::regclass, oid) NOT IN (TABLE extension_members)
   -- A sequence that belongs to a column follows its table.
   AND NOT (relkind = 'S' AND EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass
                                      AND objid = pg_class.oid AND deptype IN ('a', 'i')))
UNION ALL
SELECT 'ROUTINE', oid::regprocedure::text FROM pg_proc
 WHERE pronamespace IN (TABLE ours) AND proowner NOT IN (TABLE migrator)
   AND ('pg_proc'::regclass, oid) NOT IN (TABLE extension_members)
UNION ALL
SELECT 'TYPE', oid::regtype::text FROM pg_type
 WHERE typnamespace IN (TABLE ours) AND typowner NOT IN (TABLE migrator) AND typtype IN ('d', 'e')
   AND ('pg_type'::regclass, oid) NOT IN (TABLE extension_members)
"""


class Cursor(Protocol):
    """The common methods of psycopg's cursors and Django's."""

    def execute(self, query: Any, params: Any = None, /) -> Any: ...
    def fetchall(self) -> Any: ...
    def fetchone(self) -> Any: ...


def establish(
    cursor: Cursor, *, passwords: Mapping[str, str], limits: Mapping[str, str] | None = None
) -> None:
    """Create missing roles and grant them this database, in one transaction.

    Call as a superuser, or as the database's owner with CREATEROLE. passwords: new ones by role, as SCRAM
    verifiers. limits: of each session of web and worker, such as {"lock_timeout": "2000"}; behind a pooler,
    connections cannot bring theirs. The migrator becomes the owner of all tables.
    """
    _wait_for_others(cursor)
    for role in ROLES:
        _create(cursor, role, passwords.get(role))
    _become_member(cursor)
    _hand_over(cursor)
    _set_defaults(cursor)
    _grant(cursor)
    _limit_sessions(cursor, limits or {})


def grant(cursor: Cursor) -> bool:
    """Grant web and worker their rights on every table. Return False if that is impossible."""
    cursor.execute("SELECT count(*) FROM pg_roles WHERE rolname = ANY(%s)", [list(ROLES)])
    if cursor.fetchone()[0] < len(ROLES):
        return False
    cursor.execute("SELECT pg_has_role(%s, 'USAGE')", [MIGRATOR])
    if not cursor.fetchone()[0]:
        return False
    _wait_for_others(cursor)
    _grant(cursor)
    return True


def _wait_for_others(cursor: Cursor) -> None:
    # Two concurrent calls would update the same rows of the catalogue.
    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [AdvisoryLock.DATABASE_ROLES.value])


def _create(cursor: Cursor, role: str, password: str | None) -> None:
    name = sql.Identifier(role)
    cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
    if not cursor.fetchone():
        cursor.execute(sql.SQL("CREATE ROLE {} LOGIN").format(name))
    if password is not None:
        cursor.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(password)))


def _become_member(cursor: Cursor) -> None:
    """Become a member of the migrator: without being a superuser, only members can transfer ownership."""
    cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    if not cursor.fetchone()[0]:
        cursor.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(MIGRATOR)))


def _hand_over(cursor: Cursor) -> None:
    """Make the migrator the owner of the database and of all our objects in it."""
    owner = sql.Identifier(MIGRATOR)
    cursor.execute("SELECT current_database(), pg_get_userbyid(datdba) FROM pg_database"
                   " WHERE datname = current_database()")  # fmt: skip
    database, owner_before = cursor.fetchone()
    if owner_before != MIGRATOR:
        cursor.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(database), owner))
    cursor.execute(sql.SQL("GRANT USAGE, CREATE ON SCHEMA public TO {}").format(owner))
    cursor.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(_application()))
    cursor.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    cursor.execute(_FOREIGN_OBJECTS, {"migrator": MIGRATOR})
    for kind, name in cursor.fetchall():
        # Both are quoted by Postgres itself.
        cursor.execute(sql.SQL("ALTER {} {} OWNER TO {}").format(sql.SQL(kind), sql.SQL(name), owner))


def _set_defaults(cursor: Cursor) -> None:
    """Grant web and worker the objects that the migrator creates later."""
    for right, kind in ((_ROW_RIGHTS, "TABLES"), ("USAGE, SELECT", "SEQUENCES")):
        cursor.execute(
            sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA public GRANT {} ON {} TO {}").format(
                sql.Identifier(MIGRATOR), sql.SQL(right), sql.SQL(kind), _application()
            )
        )


def _grant(cursor: Cursor) -> None:
    application_roles = _application()
    for statement in (
        "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}",
        f"GRANT {_ROW_RIGHTS} ON ALL TABLES IN SCHEMA public TO {{}}",
    ):
        cursor.execute(sql.SQL(statement).format(application_roles))
    cursor.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
                   " AND relname = ANY(%s)", [list(_RESTRICTED_RIGHTS)])  # fmt: skip
    for (table,) in cursor.fetchall():
        for role, rights in _RESTRICTED_RIGHTS[table].items():
            _restrict(cursor, table, role, rights)

    _grant_retention(cursor)


def _grant_retention(cursor: Cursor) -> None:
    cursor.execute(_PARTITIONS)
    for (partition,) in cursor.fetchall():
        # Quoted by Postgres itself.
        cursor.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(sql.SQL(partition), _application()))
    cursor.execute("SELECT oid::regprocedure::text, proname FROM pg_proc"
                   " WHERE pronamespace = 'public'::regnamespace AND proname = ANY(%s)",
                   [list(_FUNCTIONS)])  # fmt: skip
    for function, name in cursor.fetchall():
        callers = sql.SQL(", ").join(map(sql.Identifier, _FUNCTIONS[name]))
        cursor.execute(sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(sql.SQL(function), callers))


def _limit_sessions(cursor: Cursor, limits: Mapping[str, str]) -> None:
    cursor.execute("SELECT current_database()")
    (database,) = cursor.fetchone()
    for role in APPLICATION:
        for name, value in limits.items():
            cursor.execute(
                sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}").format(
                    sql.Identifier(role), sql.Identifier(database), sql.Identifier(name), sql.Literal(value)
                )
            )


def _restrict(cursor: Cursor, table: str, role: str, rights: str) -> None:
    names = (sql.Identifier(table), sql.Identifier(role))
    cursor.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(*names))
    if rights:
        cursor.execute(sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(rights), *names))


def _application() -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, APPLICATION))
