"""Agents are told when the configuration of their environment is another."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0017_names_still_published")]

    operations = [
        migrations.AddField(
            "fleetguard", "configuration_etag", models.CharField(db_default="", max_length=160)
        ),
        # The column stays: heartbeats of the former release still ask for it.
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField("lease", "configuration_etag")]
        ),
    ]
