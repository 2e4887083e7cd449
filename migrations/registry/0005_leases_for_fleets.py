"""Fill the lease's new columns beside running heartbeats, and keep them true by triggers.

Each step may be run again after a failure: no transaction spans them, so that no lock is held for long.
The BRIN index goes: it was written with nearly every heartbeat, and the sweep walks the table by itself.
"""

from django.db import migrations, models

_ROWS_AT_ONCE = 5000
TRIGGERS = """
CREATE OR REPLACE FUNCTION registry_copy_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease AS lease SET state = changed.state
    FROM changed WHERE lease.agent_id = changed.id AND lease.state <> changed.state;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER agent_copies_state AFTER UPDATE ON registry_agent
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION registry_copy_state();

CREATE OR REPLACE FUNCTION registry_forget_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL WHERE token_digest = OLD.digest;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER token_ends_permits
    AFTER UPDATE OF id, principal_id, digest, expires_at, revoked_at OR DELETE ON access_token
    FOR EACH ROW EXECUTE FUNCTION registry_forget_token();

CREATE OR REPLACE FUNCTION registry_forget_principal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL
    WHERE token_digest IN (SELECT digest FROM access_token WHERE principal_id = OLD.id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER principal_ends_permits
    AFTER UPDATE OF id, is_active OR DELETE ON access_principal
    FOR EACH ROW EXECUTE FUNCTION registry_forget_principal();

CREATE OR REPLACE FUNCTION registry_forget_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL
    WHERE token_digest IN (SELECT digest FROM access_token WHERE principal_id = OLD.principal_id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER role_binding_ends_permits
    AFTER UPDATE OR DELETE ON access_rolebinding
    FOR EACH ROW EXECUTE FUNCTION registry_forget_holder();
"""
NO_TRIGGERS = """
DROP TRIGGER agent_copies_state ON registry_agent;
DROP TRIGGER token_ends_permits ON access_token;
DROP TRIGGER principal_ends_permits ON access_principal;
DROP TRIGGER role_binding_ends_permits ON access_rolebinding;
DROP FUNCTION registry_copy_state();
DROP FUNCTION registry_forget_token();
DROP FUNCTION registry_forget_principal();
DROP FUNCTION registry_forget_holder();
"""
GUARDS = """
INSERT INTO registry_fleetguard (environment)
SELECT '' UNION SELECT environment FROM registry_agent
ON CONFLICT DO NOTHING
"""
# The agents' rows are held meanwhile: whoever changes a state waits, and its trigger comes after us.
CHOSEN = """
WITH chosen AS (
    SELECT id, state, environment FROM registry_agent WHERE id > %s ORDER BY id LIMIT %s FOR SHARE
), filled AS (
    UPDATE registry_lease AS lease SET state = chosen.state, guard_id = guard.id
    FROM chosen JOIN registry_fleetguard AS guard ON guard.environment = chosen.environment
    WHERE lease.agent_id = chosen.id AND (lease.state <> chosen.state OR lease.guard_id IS NULL)
)
SELECT id FROM chosen ORDER BY id DESC LIMIT 1
"""


def fill(apps, schema_editor):
    last = "00000000-0000-0000-0000-000000000000"
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(GUARDS)
        while last:
            cursor.execute(CHOSEN, [last, _ROWS_AT_ONCE])
            row = cursor.fetchone()
            last = row and row[0]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("registry", "0004_lease_columns"), ("access", "0003_epoch")]
    operations = [
        migrations.RunSQL(TRIGGERS, NO_TRIGGERS),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunSQL(
            "ALTER TABLE registry_agent VALIDATE CONSTRAINT agent_state_is_known", migrations.RunSQL.noop
        ),
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS lease_by_deadline",
            "CREATE INDEX CONCURRENTLY lease_by_deadline ON registry_lease"
            " USING brin (expires_at) WITH (pages_per_range = 32)",
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AddIndex("lease", models.Index(fields=["token_digest"], name="lease_by_token"))
            ],
            database_operations=[
                # A failed attempt leaves an invalid one behind.
                migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS lease_by_token", migrations.RunSQL.noop),
                migrations.RunSQL(
                    "CREATE INDEX CONCURRENTLY lease_by_token ON registry_lease (token_digest)",
                    "DROP INDEX CONCURRENTLY lease_by_token",
                ),
            ],
        ),
    ]
