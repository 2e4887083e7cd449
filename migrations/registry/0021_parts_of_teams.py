"""What each team has in force in a data plane, how often it changes, and what older generations knew."""

import django.db.models.deletion
from django.db import migrations, models

KINDS = [("agent", "agent"), ("task_type", "task_type"), ("default", "default"), ("endpoint", "endpoint")]


class Migration(migrations.Migration):
    dependencies = [("registry", "0020_teams_move_the_access_epoch")]

    operations = [
        migrations.AlterField(
            model_name="agentconfiggrant",
            name="kind",
            field=models.CharField(choices=KINDS, max_length=16),
        ),
        migrations.AlterField(
            model_name="agentconfigrelease",
            name="kind",
            field=models.CharField(choices=KINDS, max_length=16),
        ),
        migrations.AlterField(
            model_name="claimrecord",
            name="kind",
            field=models.CharField(choices=KINDS, max_length=16),
        ),
        migrations.CreateModel(
            name="AgentConfigPace",
            fields=[
                ("team", models.CharField(max_length=63, primary_key=True, serialize=False)),
                ("left", models.FloatField()),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="agentconfiggeneration",
            name="canary",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="agentconfiggeneration",
            name="facts",
            field=models.JSONField(null=True),
        ),
        migrations.CreateModel(
            name="AgentConfigPart",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("team", models.CharField(max_length=63)),
                ("documents", models.JSONField(default=list)),
                ("held", models.JSONField(null=True)),
                (
                    "data_plane",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="registry.dataplane",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["team"], name="agent_config_part_by_team")],
                "constraints": [
                    models.UniqueConstraint(fields=("data_plane", "team"), name="agent_config_part_is_unique")
                ],
            },
        ),
    ]
