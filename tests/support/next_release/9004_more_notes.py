from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("installation", "9003_contract_old_notes")]
    operations = [migrations.AddField("backup", "notes", models.IntegerField(db_default=0))]
