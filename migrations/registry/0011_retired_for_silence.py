"""Who retired an agent: somebody, or its silence alone."""

from django.db import migrations, models

# As the sweep said it until now. An agent of which we do not know must register again, as before.
MARK = """
UPDATE registry_agent SET retired_for_silence = true
WHERE state = 'retired' AND state_reason = 'It has been silent for too long.'
"""


class Migration(migrations.Migration):
    dependencies = [("registry", "0010_agent_configs")]

    operations = [
        migrations.AddField(
            "agent", "retired_for_silence", models.BooleanField(db_default=False, default=False)
        ),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
    ]
