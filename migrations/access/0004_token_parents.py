"""Tokens know the token that they were created with: what they may not outlive, and what ends them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("access", "0003_epoch")]

    operations = [
        migrations.AddField(
            model_name="token",
            name="parent",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="children",
                to="access.token",
            ),
        ),
    ]
