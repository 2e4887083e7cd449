import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='BackfillProgress',
            fields=[
                ('name', models.CharField(max_length=63, primary_key=True, serialize=False)),
                ('after', models.TextField(null=True)),
                ('changed_rows', models.BigIntegerField(db_default=0)),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
    ]
