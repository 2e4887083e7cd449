"""Service providers of agents with their history, and the task types that agents serve."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0007_agent_indexes'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='service_type_conditions',
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='agent',
            name='task_types',
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.CreateModel(
            name='Provider',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('provider_id', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=255)),
                ('service_type', models.CharField(max_length=63)),
                ('endpoint', models.CharField(max_length=2000)),
                ('schema_version', models.CharField(max_length=63)),
                ('kind', models.CharField(choices=[('embedded', 'embedded'), ('external', 'external')], max_length=8)),
                ('display_name', models.CharField(db_default='', max_length=255)),
                ('operations', models.JSONField(default=list)),
                ('metadata', models.JSONField(null=True)),
                ('state', models.CharField(choices=[('ready', 'ready'), ('unhealthy', 'unhealthy'), ('unavailable', 'unavailable')], max_length=16)),
                ('state_reason', models.CharField(max_length=255)),
                ('state_since', models.DateTimeField()),
                ('failures', models.SmallIntegerField(default=0)),
                ('recoveries', models.SmallIntegerField(default=0)),
                ('checked_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField()),
                ('vouched', models.BooleanField(default=False)),
                ('holds_type', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='service_providers', to='registry.agent')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('agent', 'name'), name='provider_name_of_agent'), models.UniqueConstraint(fields=('agent', 'provider_id'), name='provider_id_of_agent'), models.UniqueConstraint(condition=models.Q(('holds_type', True)), fields=('agent', 'service_type'), name='provider_serves_type_alone'), models.CheckConstraint(condition=models.Q(('state__in', ['ready', 'unhealthy', 'unavailable'])), name='provider_state_is_known')],
            },
        ),
        migrations.CreateModel(
            name='ProviderChange',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('provider_id', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=255)),
                ('service_type', models.CharField(max_length=63)),
                ('old', models.CharField(db_default='', max_length=16)),
                ('new', models.CharField(db_default='', max_length=16)),
                ('reason', models.CharField(max_length=255)),
                ('actor', models.CharField(max_length=63)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('agent', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='registry.agent')),
            ],
            options={
                'indexes': [models.Index(fields=['agent', 'provider_id', '-id'], name='change_by_provider')],
            },
        ),
        migrations.CreateModel(
            name='ServedTaskType',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=128)),
                ('version', models.CharField(db_default='', max_length=63)),
                ('since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='served_task_types', to='registry.agent')),
            ],
            options={
                'indexes': [models.Index(fields=['name', 'version', 'id'], name='task_type_by_name')],
                'constraints': [models.UniqueConstraint(fields=('agent', 'name', 'version'), name='task_type_once_of_agent')],
            },
        ),
    ]
