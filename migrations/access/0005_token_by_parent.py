"""The index of tokens that were created with another one, made beside running requests."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("access", "0004_token_parents")]

    operations = [
        AddIndexConcurrently(
            "token",
            models.Index(
                condition=models.Q(("parent__isnull", False)), fields=["parent"], name="token_by_parent"
            ),
        ),
    ]
