"""Projects, domains, overrides with their history, resource types and guard rails."""

import controlplane.ids
import django.db.models.functions.datetime
from django.db import migrations, models

# Flyte's three default domains, and the one row of the revision counter and of the source's state.
FIRST_ROWS = """
INSERT INTO overrides_revisioncounter (id, revision) VALUES (1, 0);
INSERT INTO overrides_domain (id, name)
VALUES ('development', 'development'), ('staging', 'staging'), ('production', 'production');
INSERT INTO overrides_sourcestate (id, state, digest, confirmed_digest, report, revision)
VALUES (1, 'database', '', '', '{}', 0);
"""
# The catalogue epoch: new whenever a registered project or domain is removed. Kept answers about it must then
# become 404. A new project moves nothing: what is kept is never a 404.
CATALOGUE_EPOCH = """
CREATE TABLE overrides_catalogueepoch (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    epoch uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO overrides_catalogueepoch DEFAULT VALUES;
CREATE FUNCTION overrides_move_catalogue_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE overrides_catalogueepoch SET epoch = gen_random_uuid() WHERE id = 1;
    RETURN NULL;
END $$;
CREATE TRIGGER project_moves_epoch AFTER UPDATE OF id OR DELETE OR TRUNCATE ON overrides_project
    FOR EACH STATEMENT EXECUTE FUNCTION overrides_move_catalogue_epoch();
CREATE TRIGGER domain_moves_epoch AFTER UPDATE OF id OR DELETE OR TRUNCATE ON overrides_domain
    FOR EACH STATEMENT EXECUTE FUNCTION overrides_move_catalogue_epoch();
"""
NO_CATALOGUE_EPOCH = """
DROP TRIGGER project_moves_epoch ON overrides_project;
DROP TRIGGER domain_moves_epoch ON overrides_domain;
DROP FUNCTION overrides_move_catalogue_epoch();
DROP TABLE overrides_catalogueepoch;
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Domain',
            fields=[
                ('id', models.CharField(max_length=63, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.CharField(max_length=63, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=64)),
                ('description', models.CharField(blank=True, default='', max_length=300)),
                ('labels', models.JSONField(null=True)),
                ('state', models.SmallIntegerField(choices=[(0, 'active'), (1, 'archived'), (2, 'system_generated'), (3, 'system_archived')], db_default=0, default=0)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='Revision',
            fields=[
                ('revision', models.BigIntegerField(primary_key=True, serialize=False)),
                ('made_at', models.DateTimeField(db_index=True)),
                ('made_by', models.CharField(max_length=63)),
                ('change_message', models.CharField(blank=True, default='', max_length=500)),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('changes', models.IntegerField(default=0)),
                ('everything', models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name='GuardRailRow',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=63)),
                ('domain', models.CharField(blank=True, default='', max_length=255)),
                ('project', models.CharField(blank=True, default='', max_length=255)),
                ('workflow', models.CharField(blank=True, default='', max_length=255)),
                ('launch_plan', models.CharField(blank=True, default='', max_length=255)),
                ('resource_type', models.CharField(max_length=63)),
                ('pointer', models.CharField(max_length=1000)),
                ('rule', models.JSONField()),
                ('reason', models.CharField(blank=True, default='', max_length=500)),
                ('version', models.IntegerField()),
                ('since_revision', models.BigIntegerField()),
                ('until_revision', models.BigIntegerField(null=True)),
                ('changed_at', models.DateTimeField()),
                ('changed_by', models.CharField(max_length=63)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('until_revision__isnull', True)), fields=('name',), name='guard_rail_is_unique'), models.CheckConstraint(condition=models.Q(models.Q(('domain', ''), ('project', ''), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), ('project', ''), ('workflow', ''), ('launch_plan', '')), models.Q(('domain', ''), models.Q(('project', ''), _negated=True), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), models.Q(('workflow', ''), _negated=True), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), models.Q(('workflow', ''), _negated=True), models.Q(('launch_plan', ''), _negated=True)), _connector='OR'), name='guard_rail_has_legal_shape')],
            },
        ),
        migrations.CreateModel(
            name='Override',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('resource_type', models.CharField(max_length=63)),
                ('domain', models.CharField(blank=True, default='', max_length=255)),
                ('project', models.CharField(blank=True, default='', max_length=255)),
                ('workflow', models.CharField(blank=True, default='', max_length=255)),
                ('launch_plan', models.CharField(blank=True, default='', max_length=255)),
                ('attributes', models.JSONField()),
                ('owners', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('declared_in', models.CharField(blank=True, db_default='', default='', max_length=300)),
                ('version', models.BigIntegerField()),
                ('revision', models.BigIntegerField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('changed_by', models.CharField(max_length=63)),
                ('change_message', models.CharField(blank=True, default='', max_length=500)),
            ],
            options={
                'indexes': [models.Index(fields=['resource_type', 'domain', 'project', 'workflow', 'launch_plan'], name='override_by_type')],
                'constraints': [models.UniqueConstraint(fields=('project', 'domain', 'workflow', 'launch_plan', 'resource_type'), name='override_is_unique'), models.CheckConstraint(condition=models.Q(models.Q(('domain', ''), ('project', ''), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), ('project', ''), ('workflow', ''), ('launch_plan', '')), models.Q(('domain', ''), models.Q(('project', ''), _negated=True), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), ('workflow', ''), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), models.Q(('workflow', ''), _negated=True), ('launch_plan', '')), models.Q(models.Q(('domain', ''), _negated=True), models.Q(('project', ''), _negated=True), models.Q(('workflow', ''), _negated=True), models.Q(('launch_plan', ''), _negated=True)), _connector='OR'), name='override_has_legal_shape')],
            },
        ),
        migrations.CreateModel(
            name='OverrideVersion',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('resource_type', models.CharField(max_length=63)),
                ('domain', models.CharField(blank=True, default='', max_length=255)),
                ('project', models.CharField(blank=True, default='', max_length=255)),
                ('workflow', models.CharField(blank=True, default='', max_length=255)),
                ('launch_plan', models.CharField(blank=True, default='', max_length=255)),
                ('version', models.BigIntegerField()),
                ('revision', models.BigIntegerField(db_index=True)),
                ('attributes', models.JSONField(null=True)),
                ('owners', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('declared_in', models.CharField(blank=True, db_default='', default='', max_length=300)),
                ('override_id', models.UUIDField(null=True)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('changed_by', models.CharField(max_length=63)),
                ('change_message', models.CharField(blank=True, default='', max_length=500)),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'domain', 'workflow', 'launch_plan', 'resource_type', 'version'), name='override_version_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='RevisionCounter',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('revision', models.BigIntegerField(default=0)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='revision_counter_is_one_row')],
            },
        ),
        migrations.CreateModel(
            name='ScopeHead',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('domain', models.CharField(blank=True, default='', max_length=255)),
                ('project', models.CharField(blank=True, default='', max_length=255)),
                ('workflow', models.CharField(blank=True, default='', max_length=255)),
                ('launch_plan', models.CharField(blank=True, default='', max_length=255)),
                ('revision', models.BigIntegerField(db_index=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('project', 'domain', 'workflow', 'launch_plan'), name='scope_head_is_unique')],
            },
        ),
        migrations.CreateModel(
            name='SourceState',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('state', models.CharField(max_length=32)),
                ('digest', models.CharField(blank=True, default='', max_length=64)),
                ('confirmed_digest', models.CharField(blank=True, default='', max_length=64)),
                ('report', models.JSONField(default=dict)),
                ('revision', models.BigIntegerField(default=0)),
                ('checked_at', models.DateTimeField(null=True)),
                ('loaded_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='source_state_is_one_row')],
            },
        ),
        migrations.CreateModel(
            name='TypeDefinition',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=63)),
                ('definition', models.JSONField()),
                ('version', models.IntegerField()),
                ('since_revision', models.BigIntegerField()),
                ('until_revision', models.BigIntegerField(null=True)),
                ('changed_at', models.DateTimeField()),
                ('changed_by', models.CharField(max_length=63)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('until_revision__isnull', True)), fields=('name',), name='type_definition_is_unique')],
            },
        ),
        migrations.RunSQL(FIRST_ROWS, migrations.RunSQL.noop),
        migrations.RunSQL(CATALOGUE_EPOCH, NO_CATALOGUE_EPOCH),
    ]
