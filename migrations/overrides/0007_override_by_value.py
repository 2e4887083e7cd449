"""Overrides by a value that they set. Built without a lock: changes must not wait."""

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('overrides', '0006_change_requests'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='override',
            index=django.contrib.postgres.indexes.GinIndex(fields=['attributes'], name='override_by_value', opclasses=['jsonb_path_ops']),
        ),
    ]
