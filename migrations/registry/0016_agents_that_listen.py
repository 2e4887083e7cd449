"""Whether an agent waits for requests in NATS. Without a default: adding the column rewrites no row."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0015_bulk_changes")]

    operations = [
        migrations.AddField("agentmessaging", "is_listening", models.BooleanField(null=True)),
    ]
