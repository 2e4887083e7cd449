"""When each environment was last heard, its lease, and when an operator's ruling was given."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0021_parts_of_teams")]

    operations = [
        migrations.AddField("fleetguard", "heard_at", models.DateTimeField(null=True)),
        migrations.AddField("fleetguard", "hearing_since", models.DateTimeField(null=True)),
        migrations.AddField("fleetguard", "lease_seconds", models.IntegerField(null=True)),
        migrations.AddField("fleetguard", "ruled_at", models.DateTimeField(null=True)),
    ]
