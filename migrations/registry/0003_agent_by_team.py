"""Agents of a team by name. Built without a lock: heartbeats must not wait."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('registry', '0002_agent_teams'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='agent',
            index=models.Index(condition=models.Q(('team__isnull', False)), fields=['team', 'name'], name='agent_by_team'),
        ),
    ]
