from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("installation", "9001_notes_of_backups")]
    operations = [AddIndexConcurrently("backup", models.Index(fields=["note"], name="backup_by_note"))]
