"""An index by time, so that "what happened since" does not read the whole table."""

from django.contrib.postgres.indexes import BrinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("access", "0006_sessions")]
    operations = [
        AddIndexConcurrently(
            model_name="auditrecord",
            index=BrinIndex(fields=["at"], name="audit_by_time", autosummarize=True),
        ),
    ]
