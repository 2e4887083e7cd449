"""Trusted issuers, and the ids of workload tokens that were exchanged."""

import controlplane.ids
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0007_oauth'),
    ]

    operations = [
        migrations.CreateModel(
            name='TrustedIssuer',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('issuer', models.CharField(max_length=255, unique=True)),
                ('jwks_uri', models.CharField(blank=True, default='', max_length=1000)),
                ('jwks', models.JSONField(null=True)),
                ('audiences', models.JSONField()),
                ('rules', models.JSONField()),
                ('max_ttl', models.IntegerField()),
                ('version', models.IntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='UsedTokenId',
            fields=[
                ('digest', models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
    ]
