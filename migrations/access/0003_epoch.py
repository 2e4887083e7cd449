"""The access epoch: a number that is new whenever a kept decision about a caller may be wrong.

A process that keeps callers in memory compares it before each answer (overrides/fast_reads). It is random,
not counted: a number that is used twice, after a restore, would hide a change. New principals and tokens
do not move it, since nobody can have kept anything about them, and fleets register by the thousand; nor
does the note of when a token was last used.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE access_epoch (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    epoch uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO access_epoch DEFAULT VALUES;
CREATE FUNCTION access_move_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE access_epoch SET epoch = gen_random_uuid() WHERE id = 1;
    RETURN NULL;
END $$;
CREATE TRIGGER token_moves_epoch
    AFTER UPDATE OF id, principal_id, digest, expires_at, revoked_at OR DELETE OR TRUNCATE ON access_token
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE TRIGGER role_binding_moves_epoch
    AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON access_rolebinding
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE TRIGGER principal_moves_epoch
    AFTER UPDATE OF id, name, kind, is_active OR DELETE OR TRUNCATE ON access_principal
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""
BACKWARD = """
DROP TRIGGER token_moves_epoch ON access_token;
DROP TRIGGER role_binding_moves_epoch ON access_rolebinding;
DROP TRIGGER principal_moves_epoch ON access_principal;
DROP FUNCTION access_move_epoch();
DROP TABLE access_epoch;
"""


class Migration(migrations.Migration):
    dependencies = [("access", "0002_audit_is_append_only")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
