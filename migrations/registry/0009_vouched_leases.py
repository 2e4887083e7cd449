"""When a heartbeat last repeated a report. By itself: with the table of agents it could deadlock."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0008_providers_and_task_types")]

    operations = [migrations.AddField("lease", "vouched_at", models.DateTimeField(null=True))]
