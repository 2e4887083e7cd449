"""An index by time, so that "what happened since" does not read the whole table."""

from django.contrib.postgres.indexes import BrinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("events", "0002_log_is_append_only")]
    operations = [
        AddIndexConcurrently(
            model_name="event",
            index=BrinIndex(fields=["at"], name="event_by_time", autosummarize=True),
        ),
    ]
