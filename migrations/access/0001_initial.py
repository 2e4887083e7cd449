"""Principals, tokens, roles, sessions and the audit log."""

import controlplane.ids
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# Nobody rewrites the audit log, a bug of ours included.
AUDIT_IS_APPEND_ONLY = """
CREATE FUNCTION access_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only';
END $$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON access_auditrecord
    FOR EACH ROW EXECUTE FUNCTION access_refuse_change();
"""
NO_AUDIT_TRIGGER = """
DROP TRIGGER audit_is_append_only ON access_auditrecord;
DROP FUNCTION access_refuse_change();
"""
# The access epoch: a number that is new whenever a kept decision about a caller may be wrong. Processes that
# keep callers in memory compare it before each answer. It is random, not counted: a number that is used twice,
# after a restore, would hide a change. New principals and tokens do not move it: nothing is kept about them yet.
EPOCH = """
CREATE TABLE access_epoch (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    epoch uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO access_epoch DEFAULT VALUES;
CREATE FUNCTION access_move_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE access_epoch SET epoch = gen_random_uuid() WHERE id = 1;
    RETURN NULL;
END $$;
CREATE TRIGGER token_moves_epoch
    AFTER UPDATE OF id, principal_id, digest, expires_at, revoked_at OR DELETE OR TRUNCATE ON access_token
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE TRIGGER role_binding_moves_epoch
    AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON access_rolebinding
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE TRIGGER principal_moves_epoch
    AFTER UPDATE OF id, name, kind, is_active OR DELETE OR TRUNCATE ON access_principal
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""
NO_EPOCH = """
DROP TRIGGER token_moves_epoch ON access_token;
DROP TRIGGER role_binding_moves_epoch ON access_rolebinding;
DROP TRIGGER principal_moves_epoch ON access_principal;
DROP FUNCTION access_move_epoch();
DROP TABLE access_epoch;
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Principal',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=63, unique=True)),
                ('kind', models.CharField(choices=[('person', 'Person'), ('service', 'Service'), ('agent', 'Agent')], max_length=16)),
                ('is_active', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['person', 'service', 'agent'])), name='principal_kind_is_known')],
            },
        ),
        migrations.CreateModel(
            name='AuditRecord',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('actor_id', models.UUIDField(null=True)),
                ('actor', models.CharField(max_length=63)),
                ('action', models.CharField(max_length=63)),
                ('object_type', models.CharField(max_length=63)),
                ('object_id', models.CharField(max_length=1200)),
                ('domain', models.CharField(blank=True, default='', max_length=255)),
                ('project', models.CharField(blank=True, default='', max_length=255)),
                ('workflow', models.CharField(blank=True, default='', max_length=255)),
                ('launch_plan', models.CharField(blank=True, default='', max_length=255)),
                ('before', models.JSONField(null=True)),
                ('after', models.JSONField(null=True)),
                ('reason', models.TextField(blank=True, default='')),
                ('request_id', models.CharField(max_length=64)),
            ],
            options={
                'indexes': [models.Index(fields=['object_type', 'object_id', 'id'], name='audit_by_object'), models.Index(fields=['actor', 'id'], name='audit_by_actor'), models.Index(fields=['request_id'], name='audit_by_request'), django.contrib.postgres.indexes.BrinIndex(autosummarize=True, fields=['at'], name='audit_by_time')],
            },
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('data', models.TextField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('last_used_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('address', models.CharField(blank=True, max_length=45)),
                ('browser', models.CharField(blank=True, max_length=63)),
                ('principal', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='RoleBinding',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('role', models.CharField(choices=[('viewer', 'viewer'), ('editor', 'editor'), ('admin', 'admin'), ('agent', 'agent'), ('admission', 'admission')], max_length=16)),
                ('domain', models.CharField(blank=True, default='', max_length=255)),
                ('project', models.CharField(blank=True, default='', max_length=255)),
                ('workflow', models.CharField(blank=True, default='', max_length=255)),
                ('launch_plan', models.CharField(blank=True, default='', max_length=255)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('principal', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='role_bindings', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('principal', 'role', 'domain', 'project', 'workflow', 'launch_plan'), name='role_binding_is_unique'), models.CheckConstraint(condition=models.Q(models.Q(('domain', ''), ('project', ''), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), ('project', ''), ('workflow', ''), ('launch_plan', '')), models.Q(('domain', ''), models.Q(('project', ''), _negated=True), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), models.Q(('workflow', ''), _negated=True), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), models.Q(('workflow', ''), _negated=True), models.Q(('launch_plan', ''), _negated=True)), _connector='OR'), name='role_binding_has_legal_shape'), models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'editor', 'admin', 'agent', 'admission'])), name='role_binding_role_is_known')],
            },
        ),
        migrations.CreateModel(
            name='Token',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=63)),
                ('hint', models.CharField(max_length=16)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('parent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='access.token')),
                ('principal', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('parent__isnull', False)), fields=['parent'], name='token_by_parent')],
            },
        ),
        migrations.RunSQL(AUDIT_IS_APPEND_ONLY, NO_AUDIT_TRIGGER),
        migrations.RunSQL(EPOCH, NO_EPOCH),
    ]
