"""Identity providers, identities and logins; when and how the person of a session authenticated."""

import controlplane.ids
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models


# Open event streams check their caller again when the epoch moves: a session that is ended must end them too.
# Expired sessions are deleted by the next login, and change nothing.
ENDED_SESSIONS = """
CREATE FUNCTION access_move_epoch_for_ended_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM ended WHERE principal_id IS NOT NULL AND expires_at > now()) THEN
        UPDATE access_epoch SET epoch = gen_random_uuid() WHERE id = 1;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER ended_session_moves_epoch AFTER DELETE ON access_session
    REFERENCING OLD TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch_for_ended_session();
"""
NO_ENDED_SESSIONS = """
DROP TRIGGER ended_session_moves_epoch ON access_session;
DROP FUNCTION access_move_epoch_for_ended_session();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0003_organisations'),
    ]

    operations = [
        migrations.CreateModel(
            name='IdentityProvider',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('slug', models.CharField(max_length=63, unique=True)),
                ('issuer', models.CharField(max_length=512)),
                ('client_id', models.CharField(max_length=255)),
                ('secret', models.TextField(blank=True, default='')),
                ('title', models.CharField(blank=True, default='', max_length=255)),
                ('kind', models.CharField(choices=[('generic', 'generic'), ('keycloak', 'keycloak'), ('okta', 'okta'), ('entra', 'entra'), ('google', 'google')], max_length=16)),
                ('scopes', models.JSONField(default=list)),
                ('group_claim', models.CharField(max_length=255)),
                ('rules', models.JSONField(default=list)),
                ('authoritative', models.BooleanField(default=False)),
                ('allowed_domains', models.JSONField(default=list)),
                ('tenants', models.JSONField(default=list)),
                ('is_active', models.BooleanField(default=True)),
                ('version', models.IntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='LoginAttempt',
            fields=[
                ('digest', models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ('provider', models.CharField(max_length=63)),
                ('redirect_url', models.CharField(max_length=2048)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='UsedLogoutToken',
            fields=[
                ('digest', models.BinaryField(max_length=32, primary_key=True, serialize=False)),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.AddField(
            model_name='session',
            name='acr',
            field=models.CharField(blank=True, db_default='', default='', max_length=255),
        ),
        migrations.AddField(
            model_name='session',
            name='amr',
            field=models.JSONField(db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='session',
            name='auth_time',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='session',
            name='id_token',
            field=models.TextField(blank=True, db_default='', default=''),
        ),
        migrations.AddField(
            model_name='session',
            name='provider',
            field=models.CharField(blank=True, db_default='', default='', max_length=63),
        ),
        migrations.AddField(
            model_name='session',
            name='provider_sid',
            field=models.CharField(blank=True, db_default='', default='', max_length=255),
        ),
        migrations.CreateModel(
            name='Identity',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('issuer', models.CharField(max_length=512)),
                ('subject', models.CharField(max_length=255)),
                ('email', models.CharField(blank=True, default='', max_length=254)),
                ('email_verified', models.BooleanField(default=False)),
                ('last_login_at', models.DateTimeField(null=True)),
                ('claims_hash', models.CharField(blank=True, default='', max_length=64)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('principal', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='identities', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'identities',
            },
        ),
        migrations.AddField(
            model_name='session',
            name='identity',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to='access.identity'),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(condition=models.Q(('provider_sid', ''), _negated=True), fields=['provider_sid'], name='session_by_provider_sid'),
        ),
        migrations.AddField(
            model_name='identityprovider',
            name='organisation',
            field=models.ForeignKey(db_default=models.Value(uuid.UUID('00000000-0000-7000-8000-000000000001'), models.UUIDField()), db_index=False, default=uuid.UUID('00000000-0000-7000-8000-000000000001'), on_delete=django.db.models.deletion.PROTECT, related_name='+', to='access.organisation'),
        ),
        migrations.AddField(
            model_name='loginattempt',
            name='person',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='identity',
            constraint=models.UniqueConstraint(fields=('issuer', 'subject'), name='identity_is_unique'),
        ),
        migrations.RunSQL(ENDED_SESSIONS, NO_ENDED_SESSIONS),
    ]
