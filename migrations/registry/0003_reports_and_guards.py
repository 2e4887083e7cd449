"""Reports, fleet guards, flap damping. All of it is quick: new tables, and columns with constant defaults."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

_STATES = ["ready", "congested", "unavailable", "unknown"]
# Checked later, without a lock that heartbeats would meet (0005).
_CHECK = """
ALTER TABLE registry_agent
    DROP CONSTRAINT agent_state_is_known,
    ADD CONSTRAINT agent_state_is_known
        CHECK (state IN ('ready', 'congested', 'unavailable', 'unknown')) NOT VALID
"""
_CHECK_BACK = """
UPDATE registry_agent SET state = 'unavailable' WHERE state = 'unknown';
ALTER TABLE registry_agent
    DROP CONSTRAINT agent_state_is_known,
    ADD CONSTRAINT agent_state_is_known CHECK (state IN ('ready', 'congested', 'unavailable'))
"""


class Migration(migrations.Migration):
    dependencies = [("registry", "0002_lease_storage")]

    operations = [
        migrations.CreateModel(
            name="FleetGuard",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("environment", models.CharField(max_length=255, unique=True)),
                ("engaged_at", models.DateTimeField(null=True)),
                ("lifted_at", models.DateTimeField(null=True)),
                ("reason", models.CharField(db_default="", max_length=255)),
                ("due_count", models.IntegerField(db_default=0)),
                ("agent_count", models.IntegerField(db_default=0)),
                ("ruling", models.CharField(db_default="", max_length=8)),
                ("ruling_until", models.DateTimeField(null=True)),
                ("ruling_by", models.CharField(db_default="", max_length=63)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ruling__in", ["", "engage", "lift"])),
                        name="fleet_guard_ruling_is_known",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="AgentReport",
            fields=[
                (
                    "agent",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="report",
                        serialize=False,
                        to="registry.agent",
                    ),
                ),
                ("conditions", models.JSONField(default=list)),
                ("versions", models.JSONField(default=dict)),
                ("providers", models.JSONField(default=list)),
                ("changed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddField("agent", "flap_penalty", models.FloatField(db_default=0)),
        migrations.AddField("agent", "flapped_at", models.DateTimeField(null=True)),
        migrations.AddField("agent", "steady_since", models.DateTimeField(null=True)),
        migrations.AlterField(
            "agent",
            "state",
            models.CharField(choices=[(one, one) for one in _STATES], default="ready", max_length=16),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint("agent", "agent_state_is_known"),
                migrations.AddConstraint(
                    "agent",
                    models.CheckConstraint(
                        condition=models.Q(("state__in", _STATES)), name="agent_state_is_known"
                    ),
                ),
            ],
            database_operations=[migrations.RunSQL(_CHECK, _CHECK_BACK)],
        ),
        migrations.AddField("sweeprecord", "live_count", models.IntegerField(db_default=0)),
    ]
