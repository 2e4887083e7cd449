from django.db import migrations


class Migration(migrations.Migration):
    phase = "contract"
    unused_since = "0.1.0"
    dependencies = [("installation", "9002_notes_by_index")]
    operations = [migrations.RemoveField("backup", "old_note")]
