"""Resources by creation, for the list of operations. Built without a lock: requests must not wait."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('registry', '0016_agents_that_listen'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='resourcerow',
            index=models.Index(fields=['created_at', 'id'], name='resource_by_creation'),
        ),
    ]
