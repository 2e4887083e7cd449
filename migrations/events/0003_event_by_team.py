"""Events of a team by number. Built without a lock: the log may be large."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('events', '0002_event_team'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='event',
            index=models.Index(condition=models.Q(('team_id__isnull', False)), fields=['team_id', 'seq'], name='event_by_team'),
        ),
    ]
