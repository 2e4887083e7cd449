from django.db import migrations, models

# Of those that joined before, we know the name and who still waits; their join tokens were not noted.
_KNOWN = """
INSERT INTO registry_admission (principal_id, name, environment, service_types, needs_approval)
SELECT agent.registered_by, agent.name, '', '[]', agent.state = 'registered'
FROM registry_agent AS agent JOIN access_principal AS principal ON principal.id = agent.registered_by
WHERE principal.name LIKE 'agent.%' ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [('registry', '0015_data_plane_stage'), ('access', '0003_epoch')]

    operations = [
        migrations.CreateModel(
            name='Admission',
            fields=[
                ('principal_id', models.UUIDField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('environment', models.CharField(blank=True, max_length=255)),
                ('service_types', models.JSONField()),
                ('needs_approval', models.BooleanField()),
            ],
        ),
        migrations.RunSQL(_KNOWN, migrations.RunSQL.noop),
    ]
