"""Roles in Postgres: the application works with rows; it owns nothing and cannot rewrite what happened."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from psycopg import sql
from psycopg.errors import InsufficientPrivilege, RaiseException

from controlplane.database import roles
from controlplane.database.roles import APPLICATION, MIGRATOR, ROLES, WEB, WORKER
from controlplane.local import Services

TABLES = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
PARTITIONS = TABLES + " AND relispartition"


@pytest.fixture(scope="module")
def address(services: Services, django_db_setup: None) -> str:
    """Of the suite's database: made by the superuser, as installations were before there were roles."""
    url = services.environment["DATABASE_URL"].replace(
        "@/controlplane?", f"@/{settings.DATABASES['default']['NAME']}?"
    )
    with psycopg.connect(url) as administrator, administrator.cursor() as cursor:
        roles.establish(cursor, passwords={})
    return url


def connect(address: str, role: str) -> psycopg.Connection:
    return psycopg.connect(address.replace("//controlplane@", f"//{role}@"), autocommit=True)


@pytest.fixture(params=APPLICATION)
def application(address: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    with connect(address, request.param) as connection:
        yield connection


@pytest.fixture
def migrator(address: str) -> Iterator[psycopg.Connection]:
    with connect(address, MIGRATOR) as connection:
        yield connection


def test_the_roles_are_no_superusers_and_can_make_no_roles_or_databases(migrator: psycopg.Connection) -> None:
    rows = migrator.execute(
        "SELECT rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls"
        "  FROM pg_roles WHERE rolname = ANY(%s) ORDER BY rolname",
        [list(ROLES)],
    ).fetchall()

    assert rows == [(role, True, False, False, False, False) for role in sorted(ROLES)]


@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE access_auditrecord",
        "UPDATE access_auditrecord SET actor = 'somebody'",
        "DELETE FROM access_auditrecord",
        "ALTER TABLE access_auditrecord DISABLE TRIGGER audit_is_append_only",
        "DROP TRIGGER audit_is_append_only ON access_auditrecord",
        "DROP FUNCTION access_refuse_change() CASCADE",
        "TRUNCATE events_event",
        "UPDATE events_event SET actor = 'somebody'",
        "DELETE FROM events_event",
        "ALTER TABLE events_event DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "TRUNCATE overrides_override CASCADE",
        "CREATE TABLE mine (id int)",
        "ALTER TABLE registry_agent ADD COLUMN mine int",
        "DROP TABLE registry_agent",
        "CREATE INDEX mine ON registry_agent (name)",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA mine",
        "CREATE ROLE mine SUPERUSER",
        f"SET ROLE {MIGRATOR}",
        "SET ROLE controlplane",
        "DELETE FROM django_migrations",
    ],
)
def test_the_application_cannot_change_tables_or_what_was_recorded(
    application: psycopg.Connection, statement: str
) -> None:
    with pytest.raises(InsufficientPrivilege):
        application.execute(statement)


def test_the_application_reads_and_writes_the_rows_of_every_other_table(
    application: psycopg.Connection, address: str
) -> None:
    role = application.info.user
    rights = ("SELECT", "INSERT", "UPDATE", "DELETE")
    partitions = {table for (table,) in application.execute(PARTITIONS).fetchall()}
    missing = {
        table: [
            right
            for right in rights
            if not application.execute(
                "SELECT has_table_privilege(%s, %s)", [f"public.{table}", right]
            ).fetchone()[0]
        ]
        for (table,) in application.execute(TABLES).fetchall()
    }

    assert len(partitions) >= 10
    expected = {partition: list(rights) for partition in partitions} | {
        "access_auditrecord": ["UPDATE", "DELETE"],
        "events_event": ["UPDATE", "DELETE"],
        "django_migrations": ["INSERT", "UPDATE", "DELETE"],
        "events_compaction": ["INSERT", "UPDATE", "DELETE"],
        "installation_pause": ["INSERT", "UPDATE", "DELETE"],
        "access_auditseal": ["UPDATE", "DELETE"] if role == WORKER else ["INSERT", "UPDATE", "DELETE"],
        "access_auditsegment": ["UPDATE", "DELETE"] if role == WORKER else ["INSERT", "UPDATE", "DELETE"],
    }
    if role == WORKER:
        expected["django_session"] = list(rights)
        for table in ("access_rolebinding", "access_membership", "access_customrole"):
            expected[table] = ["INSERT", "UPDATE", "DELETE"]
    expected = {table: lacks for table, lacks in expected.items() if table in missing}
    assert {table: rights for table, rights in missing.items() if rights} == expected


def test_events_can_be_numbered(application: psycopg.Connection) -> None:
    application.execute("UPDATE events_event SET seq = NULL WHERE false")


def test_only_the_worker_makes_and_drops_partitions_and_only_by_the_functions(
    application: psycopg.Connection,
) -> None:
    expected = RaiseException if application.info.user == WORKER else InsufficientPrivilege
    for call in ("retention_drop_partition('events_event', 'events_event_default')",
                 "retention_make_partition('events_event', '2026-01-02Z')",
                 "retention_adopt_default('registry_agent', now(), now())"):  # fmt: skip
        with pytest.raises(expected):
            application.execute(f"SELECT {call}")
    with pytest.raises(InsufficientPrivilege):
        application.execute("SELECT retention_turn('events_event', NULL)")


def test_the_migrator_owns_everything_that_an_older_version_had_made(migrator: psycopg.Connection) -> None:
    foreign = migrator.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relowner <> %s::regrole"
        " UNION ALL SELECT proname FROM pg_proc"
        " WHERE pronamespace = 'public'::regnamespace AND proowner <> %s::regrole"
        # Functions of an extension belong to whom it was installed by.
        "   AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')",
        [MIGRATOR, MIGRATOR],
    ).fetchall()

    assert foreign == []
    assert len(migrator.execute(TABLES).fetchall()) > 30


def test_tables_of_later_migrations_are_open_to_the_application_and_owned_by_the_migrator(
    address: str, migrator: psycopg.Connection, application: psycopg.Connection
) -> None:
    migrator.execute("CREATE TABLE later (id bigserial PRIMARY KEY, words text)")
    try:
        application.execute("INSERT INTO later (words) VALUES ('a')")
        application.execute("UPDATE later SET words = 'b'")
        assert application.execute("DELETE FROM later RETURNING words").fetchall() == [("b",)]
        with pytest.raises(InsufficientPrivilege):
            application.execute("TRUNCATE later")
    finally:
        migrator.execute("DROP TABLE later")


def test_rights_that_went_astray_are_put_right_after_a_migration(
    migrator: psycopg.Connection, address: str
) -> None:
    migrator.execute(f"GRANT DELETE ON access_auditrecord TO {WEB}")

    with migrator.transaction(), migrator.cursor() as cursor:
        assert roles.grant(cursor)

    with connect(address, WEB) as web, pytest.raises(InsufficientPrivilege):
        web.execute("DELETE FROM access_auditrecord")


def test_without_the_right_to_do_so_nothing_is_granted(address: str) -> None:
    with connect(address, WEB) as web, web.cursor() as cursor:
        assert not roles.grant(cursor)


@pytest.fixture
def elsewhere(address: str) -> Iterator[str]:
    """A database whose owner is no superuser, as a provider gives it out."""
    with psycopg.connect(address, autocommit=True) as administrator:
        administrator.execute("CREATE ROLE provider_admin LOGIN CREATEROLE CREATEDB")
        administrator.execute("CREATE DATABASE elsewhere OWNER provider_admin")
        for role in ROLES:  # as PostgreSQL does for whoever creates a role
            administrator.execute(
                sql.SQL("GRANT {} TO provider_admin WITH ADMIN TRUE").format(sql.Identifier(role))
            )
    name = settings.DATABASES["default"]["NAME"]
    yield address.replace("//controlplane@", "//provider_admin@").replace(f"/{name}?", "/elsewhere?")
    with psycopg.connect(address, autocommit=True) as administrator:
        administrator.execute("DROP DATABASE elsewhere WITH (FORCE)")
        for role in ROLES:
            administrator.execute(
                sql.SQL("REVOKE {} FROM provider_admin CASCADE").format(sql.Identifier(role))
            )
        administrator.execute("DROP ROLE provider_admin")


def test_an_owner_who_is_no_superuser_can_set_it_up(elsewhere: str) -> None:
    with psycopg.connect(elsewhere) as owner, owner.cursor() as cursor:
        cursor.execute("CREATE TABLE access_auditrecord (id int); INSERT INTO access_auditrecord VALUES (1)")
        cursor.execute("CREATE VIEW shown AS SELECT 1; CREATE TYPE mood AS ENUM ('good')")
        roles.establish(cursor, passwords={})
        roles.establish(cursor, passwords={})

    with psycopg.connect(elsewhere.replace("provider_admin", WEB)) as web:
        assert web.execute("SELECT id FROM access_auditrecord").fetchall() == [(1,)]
        with pytest.raises(InsufficientPrivilege):
            web.execute("DELETE FROM access_auditrecord")


@pytest.mark.django_db(transaction=True)
def test_the_command_stores_a_password_as_a_verifier_only(address: str, tmp_path: Path) -> None:
    file = tmp_path / "database_url_web"
    file.write_text(f"postgresql://{WEB}:correct-horse@postgres:5432/controlplane")

    call_command("database_roles", "--url-file", str(file), stdout=StringIO())

    with psycopg.connect(address) as administrator:
        stored = administrator.execute("SELECT rolpassword FROM pg_authid WHERE rolname = %s", [WEB])
        (verifier,) = stored.fetchone() or ("",)
    assert verifier.startswith("SCRAM-SHA-256$")
    assert "correct-horse" not in verifier


@pytest.mark.parametrize(
    "content", ["postgresql://admin:x@db/controlplane", f"postgresql://{WEB}@db/controlplane", "no address ="]
)
def test_the_command_refuses_a_file_without_a_role_of_ours_and_its_password(
    tmp_path: Path, content: str
) -> None:
    file = tmp_path / "database_url"
    file.write_text(content)

    with pytest.raises(CommandError, match="database_url"):
        call_command("database_roles", "--url-file", str(file))
