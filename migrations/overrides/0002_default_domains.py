"""The three domains that Flyte installs by default, and the one row of the revision counter."""

from django.db import migrations

FORWARD = """
INSERT INTO overrides_revisioncounter (id, revision) VALUES (1, 0);
INSERT INTO overrides_domain (id, name)
VALUES ('development', 'development'), ('staging', 'staging'), ('production', 'production');
"""
BACKWARD = """
DELETE FROM overrides_revisioncounter;
DELETE FROM overrides_domain WHERE id IN ('development', 'staging', 'production');
"""


class Migration(migrations.Migration):
    dependencies = [("overrides", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
