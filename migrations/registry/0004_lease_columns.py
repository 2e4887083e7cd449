"""The lease learns all that a heartbeat must know. By itself: with the table of agents it could deadlock."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0003_reports_and_guards")]

    operations = [
        migrations.AddField("lease", "state", models.CharField(db_default="ready", max_length=16)),
        migrations.AddField(
            "lease",
            "guard",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                to="registry.fleetguard",
            ),
        ),
        migrations.AddField("lease", "generation", models.IntegerField(db_default=1)),
        migrations.AddField("lease", "configuration_etag", models.CharField(db_default="", max_length=80)),
        migrations.AddField("lease", "token_digest", models.BinaryField(max_length=32, null=True)),
        migrations.AddField("lease", "token_expires_at", models.DateTimeField(null=True)),
        migrations.AddField("lease", "report_digest", models.BinaryField(max_length=16, null=True)),
    ]
