"""Join tokens with an issuer rule, and the agents that joined by one."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0003_agent_by_team'),
    ]

    operations = [
        # Nullable without a default: Postgres only changes its catalogue, at any size of the table.
        migrations.AddField(
            model_name='jointoken',
            name='issuer_rule',
            field=models.JSONField(null=True),
        ),
        migrations.AddIndex(
            model_name='jointoken',
            index=models.Index(condition=models.Q(('issuer_rule__isnull', False)), fields=['id'], name='join_token_with_rule'),
        ),
        migrations.CreateModel(
            name='SubjectAgent',
            fields=[
                ('digest', models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ('principal_id', models.UUIDField(db_index=True)),
            ],
        ),
    ]
