"""The team that owns an event's object."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='event',
            name='team_id',
            field=models.UUIDField(null=True),
        ),
    ]
