"""An epoch of what projects and domains say, for answers that show them, or say that one is missing."""

from django.db import migrations

# `contents` is new whenever a project or domain is added or changed; `epoch` moves when one is removed. The row is
# locked only at commit: two transactions that change several projects would otherwise wait for each other.
CONTENTS = """
ALTER TABLE overrides_catalogueepoch ADD COLUMN contents uuid NOT NULL DEFAULT gen_random_uuid();
CREATE FUNCTION overrides_move_catalogue_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Once for each transaction, however many rows it changes.
    UPDATE overrides_catalogueepoch SET contents = gen_random_uuid()
    WHERE id = 1 AND xmin <> pg_current_xact_id()::xid;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER project_moves_contents AFTER INSERT OR UPDATE ON overrides_project
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION overrides_move_catalogue_contents();
CREATE CONSTRAINT TRIGGER domain_moves_contents AFTER INSERT OR UPDATE ON overrides_domain
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION overrides_move_catalogue_contents();
"""
NO_CONTENTS = """
DROP TRIGGER project_moves_contents ON overrides_project;
DROP TRIGGER domain_moves_contents ON overrides_domain;
DROP FUNCTION overrides_move_catalogue_contents();
ALTER TABLE overrides_catalogueepoch DROP COLUMN contents;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('overrides', '0001_initial'),
    ]

    operations = [
        migrations.RunSQL(CONTENTS, NO_CONTENTS),
    ]
