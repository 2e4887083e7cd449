"""Fill revisions and scope heads from the history that is there; the one row of the source's state."""

from django.db import migrations

FORWARD = """
INSERT INTO overrides_revision (revision, made_at, made_by, change_message, request_id, changes, everything)
SELECT revision, min(changed_at), min(changed_by), min(change_message), min(request_id), count(*), false
FROM overrides_overrideversion GROUP BY revision;
INSERT INTO overrides_scopehead (domain, project, workflow, launch_plan, revision)
SELECT domain, project, workflow, launch_plan, max(revision)
FROM overrides_overrideversion GROUP BY domain, project, workflow, launch_plan;
UPDATE overrides_overrideversion AS past SET override_id = o.id
FROM overrides_override AS o
WHERE (o.project, o.domain, o.workflow, o.launch_plan, o.resource_type)
    = (past.project, past.domain, past.workflow, past.launch_plan, past.resource_type)
  AND past.changed_at >= o.created_at;
INSERT INTO overrides_sourcestate (id, state, digest, confirmed_digest, report, revision)
VALUES (1, 'database', '', '', '{}', 0);
"""
BACKWARD = """
DELETE FROM overrides_revision;
DELETE FROM overrides_scopehead;
DELETE FROM overrides_sourcestate;
"""


class Migration(migrations.Migration):
    dependencies = [("overrides", "0003_history_types_and_rails")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
