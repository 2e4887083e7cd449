"""The agent's own lease, and the process that holds its name. By itself: with other tables it could deadlock."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0022_hearing")]

    operations = [
        migrations.AddField("lease", "lease_seconds", models.IntegerField(null=True)),
        migrations.AddField("lease", "instance_uuid", models.UUIDField(null=True)),
        migrations.AddField("lease", "rival_uuid", models.UUIDField(null=True)),
        migrations.AddField("lease", "rival_since", models.DateTimeField(null=True)),
        migrations.AddField("lease", "rival_announced", models.BooleanField(db_default=False, default=False)),
    ]
