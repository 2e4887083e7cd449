from django.db import migrations, models

from tests.support.next_release import LAST


class Migration(migrations.Migration):
    dependencies = [("installation", LAST)]
    operations = [
        migrations.AddField("backup", "note", models.CharField(max_length=63, db_default="")),
        migrations.AddField("backup", "old_note", models.CharField(max_length=63, db_default="")),
    ]
