"""Names that administrators pinned to teams."""

import django.db.models.functions.datetime
from django.db import migrations, models

import controlplane.ids

_KINDS = [
    ("agent", "agent"),
    ("task_type", "task_type"),
    ("default", "default"),
    ("endpoint", "endpoint"),
]


class Migration(migrations.Migration):
    dependencies = [("registry", "0017_resources_by_creation")]

    operations = [
        migrations.CreateModel(
            name="AgentConfigPin",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("kind", models.CharField(choices=_KINDS, max_length=16)),
                ("name", models.CharField(max_length=128)),
                ("team", models.CharField(max_length=63)),
                ("reason", models.CharField(blank=True, db_default="", default="", max_length=500)),
                ("until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("created_by", models.CharField(max_length=63)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "name"), name="agent_config_pin_is_unique")
                ],
            },
        ),
    ]
