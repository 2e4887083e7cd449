"""How callers logged in: in audit records and tokens; and emergency access."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import controlplane.ids


class Migration(migrations.Migration):
    # Nullable columns without a default: Postgres only changes its catalogue, at any size of the table.
    dependencies = [
        ('access', '0004_login'),
    ]

    operations = [
        migrations.CreateModel(
            name="EmergencyAccess",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("reason", models.TextField()),
                (
                    "opened_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                ("ends_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "binding",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="access.rolebinding",
                    ),
                ),
                (
                    "principal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="emergency_accesses",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="access.token"
                    ),
                ),
            ],
            options={"verbose_name_plural": "emergency accesses"},
        ),
        migrations.AddField(model_name="token", name="auth_time", field=models.DateTimeField(null=True)),
        migrations.AddField(
            model_name="auditrecord", name="client", field=models.CharField(max_length=255, null=True)
        ),
        migrations.AddField(
            model_name="auditrecord", name="identity", field=models.CharField(max_length=600, null=True)
        ),
        migrations.AddField(
            model_name="auditrecord", name="session_hint", field=models.CharField(max_length=63, null=True)
        ),
    ]
