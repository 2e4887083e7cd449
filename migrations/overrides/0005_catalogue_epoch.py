"""The catalogue epoch: new whenever a registered project or domain is taken away.

Kept answers about it must then become 404. A new project moves nothing: what is kept is never a 404.
"""

from django.db import migrations

FORWARD = """
CREATE TABLE overrides_catalogueepoch (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    epoch uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO overrides_catalogueepoch DEFAULT VALUES;
CREATE FUNCTION overrides_move_catalogue_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE overrides_catalogueepoch SET epoch = gen_random_uuid() WHERE id = 1;
    RETURN NULL;
END $$;
CREATE TRIGGER project_moves_epoch AFTER UPDATE OF id OR DELETE OR TRUNCATE ON overrides_project
    FOR EACH STATEMENT EXECUTE FUNCTION overrides_move_catalogue_epoch();
CREATE TRIGGER domain_moves_epoch AFTER UPDATE OF id OR DELETE OR TRUNCATE ON overrides_domain
    FOR EACH STATEMENT EXECUTE FUNCTION overrides_move_catalogue_epoch();
"""
BACKWARD = """
DROP TRIGGER project_moves_epoch ON overrides_project;
DROP TRIGGER domain_moves_epoch ON overrides_domain;
DROP FUNCTION overrides_move_catalogue_epoch();
DROP TABLE overrides_catalogueepoch;
"""


class Migration(migrations.Migration):
    dependencies = [("overrides", "0004_heads_of_what_exists")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
