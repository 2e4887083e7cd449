"""Agents that an operator retired."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0023_lease_terms")]

    operations = [
        migrations.AddField("agent", "dismissed", models.BooleanField(db_default=False, default=False)),
    ]
