"""Join tokens know the access token that they were created with, and are revoked with it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0018_configuration_of_environments")]

    operations = [
        # The table is small: join tokens are created by people.
        migrations.AddField("jointoken", "issuer_id", models.UUIDField(db_index=True, null=True)),
    ]
