"""Labels and state of projects, as Flyte has them. Constant defaults: no table is rewritten."""

from typing import Any, ClassVar

from django.db import migrations, models
from django.db.models.functions import Now

_STATES = [(0, "active"), (1, "archived"), (2, "system_generated"), (3, "system_archived")]


class Migration(migrations.Migration):
    dependencies = [("overrides", "0005_catalogue_epoch")]
    operations: ClassVar[list[Any]] = [
        migrations.AddField("project", "labels", models.JSONField(null=True)),
        migrations.AddField(
            "project", "state", models.SmallIntegerField(choices=_STATES, db_default=0, default=0)
        ),
        migrations.AddField("project", "updated_at", models.DateTimeField(db_default=Now())),
    ]
