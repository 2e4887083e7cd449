"""Sessions with what their owners recognise them by; and the role of admission webhooks.

Whoever is logged in to the console logs in once more: the sessions before are in Django's table, which stays
for servers that still run the version before.
"""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import controlplane.ids

ROLES = ["viewer", "editor", "admin", "agent", "admission"]


class Migration(migrations.Migration):
    dependencies = [("access", "0005_token_by_parent")]

    operations = [
        migrations.CreateModel(
            name="Session",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("data", models.TextField()),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), editable=False
                    ),
                ),
                (
                    "last_used_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("address", models.CharField(blank=True, max_length=45)),
                ("browser", models.CharField(blank=True, max_length=63)),
                (
                    "principal",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sessions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AlterField(
            model_name="rolebinding",
            name="role",
            field=models.CharField(choices=[(role, role) for role in ROLES], max_length=16),
        ),
        migrations.RemoveConstraint(model_name="rolebinding", name="role_binding_role_is_known"),
        migrations.AddConstraint(
            model_name="rolebinding",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ROLES)), name="role_binding_role_is_known"
            ),
        ),
    ]
