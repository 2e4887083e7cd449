"""OAuth clients, their secrets and tokens, codes, consents, and keys that sign JWTs."""

import controlplane.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0006_scim'),
    ]

    operations = [
        migrations.CreateModel(
            name='OAuthClient',
            fields=[
                ('redirect_uris', models.TextField(blank=True, help_text='Allowed URIs list, space separated', verbose_name='redirect URIs')),
                ('client_type', models.CharField(choices=[('confidential', 'Confidential'), ('public', 'Public')], max_length=32, verbose_name='client type')),
                ('name', models.CharField(blank=True, max_length=255, verbose_name='name')),
                ('skip_authorization', models.BooleanField(default=False, verbose_name='skip authorization')),
                ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('updated', models.DateTimeField(auto_now=True, verbose_name='updated')),
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('client_id', models.CharField(max_length=100, unique=True)),
                ('allowed_grants', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('allowed_scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('default_scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('audiences', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=255), default=list, size=None)),
                ('may_introspect', models.BooleanField(default=False)),
                ('source', models.CharField(choices=[('setting', 'Setting'), ('api', 'Api')], default='api', max_length=16)),
                ('is_active', models.BooleanField(default=True)),
                ('version', models.BigIntegerField(default=1)),
                ('principal', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='oauth_clients', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='oauth_clients', to='access.team')),
            ],
        ),
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('principal', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consents', to=settings.AUTH_USER_MODEL)),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consents', to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='ClientSecret',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('hint', models.CharField(max_length=16)),
                ('digest', models.BinaryField(max_length=32, null=True, unique=True)),
                ('slow_hash', models.CharField(blank=True, default='', max_length=128)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('warned_days', models.SmallIntegerField(null=True)),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SigningKey',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kid', models.CharField(max_length=64, unique=True)),
                ('alg', models.CharField(max_length=8)),
                ('private_key', models.TextField()),
                ('public_key', models.JSONField()),
                ('state', models.CharField(choices=[('next', 'Next'), ('active', 'Active'), ('retired', 'Retired')], max_length=16)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('activated_at', models.DateTimeField(null=True)),
                ('not_after', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('state',), name='one_signing_key_is_active')],
            },
        ),
        migrations.CreateModel(
            name='TokenFamily',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('grant', models.CharField(max_length=100)),
                ('audience', models.CharField(blank=True, default='', max_length=255)),
                ('auth_time', models.DateTimeField(null=True)),
                ('generation', models.IntegerField(default=0)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('ends_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(null=True)),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='families', to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL)),
                ('principal', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='token_families', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='RefreshToken',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('generation', models.IntegerField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField()),
                ('replaced_at', models.DateTimeField(null=True)),
                ('family', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refresh_tokens', to='access.tokenfamily')),
            ],
        ),
        migrations.CreateModel(
            name='OAuthAccessToken',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('grant', models.CharField(max_length=100)),
                ('audience', models.CharField(blank=True, default='', max_length=255)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('token', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='oauth', to='access.token')),
                ('client', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='access_tokens', to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL)),
                ('family', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='access_tokens', to='access.tokenfamily')),
            ],
        ),
        migrations.CreateModel(
            name='DeviceCode',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('user_code_digest', models.BinaryField(max_length=32, unique=True)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('audience', models.CharField(blank=True, default='', max_length=255)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('denied', 'Denied'), ('used', 'Used')], default='pending', max_length=16)),
                ('auth_time', models.DateTimeField(null=True)),
                ('interval', models.IntegerField()),
                ('address', models.CharField(blank=True, max_length=45)),
                ('device', models.CharField(blank=True, max_length=100)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('polled_at', models.DateTimeField(null=True)),
                ('principal', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='device_codes', to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL)),
                ('family', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='device_code', to='access.tokenfamily')),
            ],
        ),
        migrations.CreateModel(
            name='AccessGrant',
            fields=[
                ('code', models.CharField(max_length=255, unique=True, verbose_name='code')),
                ('expires', models.DateTimeField(verbose_name='expires')),
                ('redirect_uri', models.TextField(verbose_name='redirect URI')),
                ('scope', models.TextField(blank=True, verbose_name='scope')),
                ('created', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('updated', models.DateTimeField(auto_now=True, verbose_name='updated')),
                ('code_challenge', models.CharField(blank=True, default='', max_length=128, verbose_name='code challenge')),
                ('code_challenge_method', models.CharField(blank=True, choices=[('plain', 'plain'), ('S256', 'S256')], default='', max_length=10, verbose_name='code challenge method')),
                ('nonce', models.CharField(blank=True, default='', max_length=255, verbose_name='nonce')),
                ('claims', models.TextField(blank=True, verbose_name='claims')),
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('used_at', models.DateTimeField(null=True)),
                ('audience', models.CharField(blank=True, default='', max_length=255)),
                ('auth_time', models.DateTimeField(null=True)),
                ('resource', models.JSONField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='%(app_label)s_%(class)s', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                ('application', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL, verbose_name='application')),
                ('family', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='code', to='access.tokenfamily')),
            ],
        ),
        migrations.AddConstraint(
            model_name='oauthclient',
            constraint=models.CheckConstraint(condition=models.Q(('client_type__in', ['public', 'confidential'])), name='oauth_client_type_is_known'),
        ),
        migrations.AddConstraint(
            model_name='oauthclient',
            constraint=models.CheckConstraint(condition=models.Q(('client_type', 'confidential'), ('principal__isnull', True), _connector='OR'), name='public_oauth_client_has_no_principal'),
        ),
        migrations.AddConstraint(
            model_name='consent',
            constraint=models.UniqueConstraint(fields=('principal', 'client'), name='consent_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='clientsecret',
            constraint=models.CheckConstraint(condition=models.Q(('digest__isnull', False), models.Q(('slow_hash', ''), _negated=True), _connector='XOR'), name='client_secret_is_hashed'),
        ),
        migrations.AddIndex(
            model_name='accessgrant',
            index=models.Index(fields=['expires'], name='access_grant_by_expiry'),
        ),
    ]
