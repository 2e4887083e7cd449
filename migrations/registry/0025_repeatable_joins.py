"""Joins that were sent with an Idempotency-Key."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("registry", "0024_dismissed_agents")]

    operations = [
        migrations.CreateModel(
            "RepeatableJoin",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("join_token_id", models.UUIDField()),
                ("key_digest", models.BinaryField(max_length=32)),
                ("body_digest", models.BinaryField(max_length=32)),
                ("principal_id", models.UUIDField()),
                ("created_at", models.DateTimeField(db_default=Now(), editable=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("join_token_id", "key_digest"), name="repeatable_join_key"
                    )
                ],
                "indexes": [models.Index(fields=["created_at"], name="repeatable_join_by_age")],
            },
        ),
    ]
