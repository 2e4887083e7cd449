"""Nobody rewrites the audit log, a bug of ours included."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION access_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END $$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON access_auditrecord
    FOR EACH ROW EXECUTE FUNCTION access_refuse_change();
"""
BACKWARD = """
DROP TRIGGER audit_is_append_only ON access_auditrecord;
DROP FUNCTION access_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
