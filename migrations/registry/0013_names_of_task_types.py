"""One view of all names of task types: those that agents serve, and those that teams publish."""

from django.db import migrations, models

VIEW = """
CREATE VIEW registry_tasktypename AS
SELECT name, ''::varchar(63) AS team FROM registry_servedtasktype
UNION
SELECT name, team FROM registry_claimrecord WHERE kind = 'task_type' AND established
"""


class Migration(migrations.Migration):
    dependencies = [('registry', '0012_agent_configs_from_clusters')]

    operations = [
        migrations.AddIndex(
            model_name='claimrecord',
            index=models.Index(fields=['name', 'kind'], name='agent_config_claim_by_name'),
        ),
        migrations.CreateModel(
            name='TaskTypeName',
            fields=[
                ('name', models.CharField(max_length=200, primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=63)),
            ],
            options={'managed': False},
        ),
        migrations.RunSQL(VIEW, 'DROP VIEW registry_tasktypename'),
    ]
