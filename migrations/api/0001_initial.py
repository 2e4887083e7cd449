"""Idempotency keys."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('principal_id', models.UUIDField()),
                ('route', models.CharField(max_length=255)),
                ('key', models.CharField(max_length=255)),
                ('body_digest', models.BinaryField(max_length=32)),
                ('status', models.SmallIntegerField()),
                ('headers', models.JSONField(default=dict)),
                ('body', models.JSONField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='idempotency_key_by_age')],
                'constraints': [models.UniqueConstraint(fields=('principal_id', 'route', 'key'), name='one_effect_per_key')],
            },
        ),
    ]
