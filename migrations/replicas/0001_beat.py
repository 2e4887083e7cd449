from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Beat',
            fields=[
                ('id', models.SmallIntegerField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
                ('timeline', models.CharField(max_length=8)),
            ],
        ),
    ]
