"""Leases are updated all the time: room in each page keeps updates in place (HOT), BRIN finds what is due.

A btree on the deadline would end HOT updates (performance.md, "Sweep"): BRIN keeps them from Postgres 16 on.
"""

from django.db import migrations

FORWARD = """
INSERT INTO registry_sweeprecord (id) VALUES (1);
ALTER TABLE registry_lease SET (
    fillfactor = 60,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX lease_by_deadline ON registry_lease USING brin (expires_at) WITH (pages_per_range = 32);
"""
BACKWARD = """
DROP INDEX lease_by_deadline;
ALTER TABLE registry_lease RESET (
    fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay
);
DELETE FROM registry_sweeprecord;
"""


class Migration(migrations.Migration):
    dependencies = [("registry", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
