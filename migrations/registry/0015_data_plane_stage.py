from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('registry', '0014_agent_endpoints')]

    operations = [
        migrations.AddField(
            model_name='dataplane', name='stage', field=models.IntegerField(default=0, db_default=0)
        ),
    ]
