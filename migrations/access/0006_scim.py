"""Users and groups that an identity provider sends by SCIM."""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0005_lifetimes'),
    ]

    operations = [
        migrations.CreateModel(
            name='ScimGroup',
            fields=[
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='scim_group', serialize=False, to='access.team')),
                ('display_name', models.CharField(max_length=255)),
                ('external_id', models.CharField(blank=True, db_index=True, default='', max_length=255)),
                ('version', models.IntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('display_name'), name='scim_group_name_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='ScimUser',
            fields=[
                ('principal', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='scim_user', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('user_name', models.CharField(max_length=255)),
                ('external_id', models.CharField(blank=True, db_index=True, default='', max_length=255)),
                ('document', models.JSONField(default=dict)),
                ('version', models.IntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('user_name'), name='scim_user_name_is_unique')],
            },
        ),
    ]
