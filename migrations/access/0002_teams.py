"""Organisations, teams, memberships, custom roles; roles of teams, and roles limited to a team's objects."""

import controlplane.ids
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models


DEFAULT_ORGANISATION = """
INSERT INTO access_organisation (id, slug, title, version)
VALUES ('00000000-0000-7000-8000-000000000001', 'default', '', 1);
"""
# Whatever changes the grants of a caller moves the access epoch (0001_initial.py). A new membership or role
# gives rights, and those are not kept either: a denial may be cached.
EPOCH = """
CREATE TRIGGER membership_moves_epoch
    AFTER INSERT OR UPDATE OF team_id, principal_id OR DELETE OR TRUNCATE ON access_membership
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE TRIGGER team_moves_epoch
    AFTER UPDATE OF id, slug, organisation_id OR DELETE OR TRUNCATE ON access_team
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE TRIGGER custom_role_moves_epoch
    AFTER UPDATE OR DELETE OR TRUNCATE ON access_customrole
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""
NO_EPOCH = """
DROP TRIGGER membership_moves_epoch ON access_membership;
DROP TRIGGER team_moves_epoch ON access_team;
DROP TRIGGER custom_role_moves_epoch ON access_customrole;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='CustomRole',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=63, unique=True)),
                ('title', models.CharField(blank=True, default='', max_length=255)),
                ('actions', models.JSONField()),
                ('version', models.IntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('via', models.CharField(choices=[('manual', 'Manual'), ('claim', 'Claim'), ('scim', 'Scim')], default='manual', max_length=8)),
                ('seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='Organisation',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('slug', models.CharField(max_length=63, unique=True)),
                ('title', models.CharField(blank=True, default='', max_length=255)),
                ('version', models.IntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.RunSQL(DEFAULT_ORGANISATION, migrations.RunSQL.noop),
        migrations.CreateModel(
            name='Team',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('slug', models.CharField(max_length=63)),
                ('title', models.CharField(blank=True, default='', max_length=255)),
                ('external_group', models.CharField(max_length=255, null=True)),
                ('version', models.IntegerField(default=1)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='rolebinding',
            name='role_binding_is_unique',
        ),
        migrations.RemoveConstraint(
            model_name='rolebinding',
            name='role_binding_role_is_known',
        ),
        migrations.AddField(
            model_name='auditrecord',
            name='team_id',
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name='principal',
            name='display_name',
            field=models.CharField(blank=True, db_default='', default='', max_length=255),
        ),
        migrations.AddField(
            model_name='principal',
            name='email',
            field=models.CharField(blank=True, db_default='', default='', max_length=254),
        ),
        migrations.AddField(
            model_name='rolebinding',
            name='expires_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='rolebinding',
            name='via',
            field=models.CharField(choices=[('manual', 'Manual'), ('claim', 'Claim'), ('scim', 'Scim')], db_default='manual', default='manual', max_length=8),
        ),
        migrations.AddField(
            model_name='token',
            name='scopes',
            field=models.JSONField(null=True),
        ),
        migrations.AlterField(
            model_name='rolebinding',
            name='principal',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='role_bindings', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='rolebinding',
            name='role',
            field=models.CharField(max_length=63),
        ),
        migrations.AddField(
            model_name='rolebinding',
            name='custom_role',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='bindings', to='access.customrole'),
        ),
        migrations.AddField(
            model_name='membership',
            name='principal',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='principal',
            name='organisation',
            field=models.ForeignKey(db_default=models.Value(uuid.UUID('00000000-0000-7000-8000-000000000001'), models.UUIDField()), db_index=False, default=uuid.UUID('00000000-0000-7000-8000-000000000001'), on_delete=django.db.models.deletion.PROTECT, related_name='+', to='access.organisation'),
        ),
        migrations.AddField(
            model_name='team',
            name='organisation',
            field=models.ForeignKey(db_default=models.Value(uuid.UUID('00000000-0000-7000-8000-000000000001'), models.UUIDField()), db_index=False, default=uuid.UUID('00000000-0000-7000-8000-000000000001'), on_delete=django.db.models.deletion.PROTECT, related_name='+', to='access.organisation'),
        ),
        migrations.AddField(
            model_name='membership',
            name='team',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='access.team'),
        ),
        migrations.AddField(
            model_name='rolebinding',
            name='owned_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='limited_bindings', to='access.team'),
        ),
        migrations.AddField(
            model_name='rolebinding',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='role_bindings', to='access.team'),
        ),
        migrations.AddConstraint(
            model_name='rolebinding',
            constraint=models.UniqueConstraint(fields=('principal', 'team', 'role', 'domain', 'project', 'workflow', 'launch_plan', 'owned_by', 'via'), name='role_binding_is_unique_for_holder', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='rolebinding',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('custom_role', None), ('role__in', ['viewer', 'editor', 'admin', 'publisher', 'operator', 'auditor', 'agent', 'admission'])), ('custom_role__isnull', False), _connector='OR'), name='role_binding_role_exists'),
        ),
        migrations.AddConstraint(
            model_name='rolebinding',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('principal', None), ('team__isnull', False)), models.Q(('principal__isnull', False), ('team', None)), _connector='OR'), name='role_binding_has_one_holder'),
        ),
        migrations.AddConstraint(
            model_name='team',
            constraint=models.UniqueConstraint(fields=('organisation', 'slug'), name='team_slug_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='team',
            constraint=models.UniqueConstraint(fields=('organisation', 'external_group'), name='team_group_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('team', 'principal', 'via'), name='membership_is_unique'),
        ),
        migrations.RunSQL(EPOCH, NO_EPOCH),
    ]
