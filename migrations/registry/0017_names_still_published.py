"""A name that its team publishes no more is kept as a claim for a while, and is no task type."""

from django.db import migrations

VIEW = """
CREATE OR REPLACE VIEW registry_tasktypename AS
SELECT name, ''::varchar(63) AS team FROM registry_servedtasktype
UNION
SELECT name, team FROM registry_claimrecord WHERE kind = 'task_type' AND established
"""


class Migration(migrations.Migration):
    dependencies = [('registry', '0016_admissions')]

    operations = [migrations.RunSQL(VIEW + ' AND gone_at IS NULL', VIEW)]
