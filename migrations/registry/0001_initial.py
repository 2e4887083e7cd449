"""Agents, environments, join tokens, providers, task types and agent configurations."""

import controlplane.ids
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models

# The one row each of the sweep and of the followed sources, and the environment that is the whole fleet.
FIRST_ROWS = """
INSERT INTO registry_sweeprecord (id) VALUES (1);
INSERT INTO registry_environment (name) VALUES ('');
INSERT INTO registry_agentconfigfolder (id, is_synced, digest, confirmed_digest, problems)
VALUES (1, true, '', '', '[]');
INSERT INTO registry_agentconfigcluster (id, is_synced, digest, confirmed_digest, problems, watcher, counts)
VALUES (1, true, '', '', '[]', '', '{}');
"""
# Leases are updated all the time: room in each page keeps updates in place (HOT).
LEASE_STORAGE = """
ALTER TABLE registry_lease SET (
    fillfactor = 60,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
);
"""
# The lease knows all that a heartbeat must know: the agent's state, and whose heartbeats may be accepted.
LEASE_TRIGGERS = """
CREATE FUNCTION registry_copy_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease AS lease SET state = changed.state
    FROM changed WHERE lease.agent_id = changed.id AND lease.state <> changed.state;
    RETURN NULL;
END $$;
CREATE TRIGGER agent_copies_state AFTER UPDATE ON registry_agent
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION registry_copy_state();

CREATE FUNCTION registry_forget_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL WHERE token_digest = OLD.digest;
    RETURN NULL;
END $$;
CREATE TRIGGER token_ends_permits
    AFTER UPDATE OF id, principal_id, digest, expires_at, revoked_at OR DELETE ON access_token
    FOR EACH ROW EXECUTE FUNCTION registry_forget_token();

CREATE FUNCTION registry_forget_principal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL
    WHERE token_digest IN (SELECT digest FROM access_token WHERE principal_id = OLD.id);
    RETURN NULL;
END $$;
CREATE TRIGGER principal_ends_permits
    AFTER UPDATE OF id, is_active OR DELETE ON access_principal
    FOR EACH ROW EXECUTE FUNCTION registry_forget_principal();

CREATE FUNCTION registry_forget_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL
    WHERE token_digest IN (SELECT digest FROM access_token WHERE principal_id = OLD.principal_id);
    RETURN NULL;
END $$;
CREATE TRIGGER role_binding_ends_permits
    AFTER UPDATE OR DELETE ON access_rolebinding
    FOR EACH ROW EXECUTE FUNCTION registry_forget_holder();
"""
NO_LEASE_TRIGGERS = """
DROP TRIGGER agent_copies_state ON registry_agent;
DROP TRIGGER token_ends_permits ON access_token;
DROP TRIGGER principal_ends_permits ON access_principal;
DROP TRIGGER role_binding_ends_permits ON access_rolebinding;
DROP FUNCTION registry_copy_state();
DROP FUNCTION registry_forget_token();
DROP FUNCTION registry_forget_principal();
DROP FUNCTION registry_forget_holder();
"""
# Steps and not counts: agents that change at the same time must not wait for one row.
COUNTS = """
CREATE FUNCTION registry_tally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO registry_agenttally (environment, state, step)
        SELECT environment, state, -count(*) FROM before GROUP BY environment, state;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO registry_agenttally (environment, state, step)
        SELECT environment, state, count(*) FROM after GROUP BY environment, state;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION registry_tally_anew() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM registry_agenttally;
    RETURN NULL;
END $$;
CREATE FUNCTION registry_tally_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO registry_agenttally (environment, state, step)
    SELECT environment, state, sum(step) FROM (
        SELECT id, environment, state, -1 AS step FROM before
        UNION ALL SELECT id, environment, state, 1 FROM after
    ) AS moved GROUP BY environment, state HAVING sum(step) <> 0;
    RETURN NULL;
END $$;
CREATE TRIGGER agent_is_counted AFTER INSERT ON registry_agent
    REFERENCING NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION registry_tally();
CREATE TRIGGER agent_is_counted_off AFTER DELETE ON registry_agent
    REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION registry_tally();
CREATE TRIGGER agent_is_counted_elsewhere AFTER UPDATE ON registry_agent
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION registry_tally_moves();
CREATE TRIGGER agents_are_counted_anew AFTER TRUNCATE ON registry_agent
    FOR EACH STATEMENT EXECUTE FUNCTION registry_tally_anew();
"""
NO_COUNTS = """
DROP TRIGGER agent_is_counted ON registry_agent;
DROP TRIGGER agent_is_counted_off ON registry_agent;
DROP TRIGGER agent_is_counted_elsewhere ON registry_agent;
DROP TRIGGER agents_are_counted_anew ON registry_agent;
DROP FUNCTION registry_tally();
DROP FUNCTION registry_tally_moves();
DROP FUNCTION registry_tally_anew();
"""
# A bundle that a data plane was given must stay what it was: digests, diffs and blame rest on it.
BUNDLES_ARE_IMMUTABLE = """
CREATE FUNCTION registry_bundle_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'bundles of agent configurations are never changed';
END $$;
CREATE TRIGGER registry_bundle_is_immutable BEFORE UPDATE ON registry_agentconfigbundle
FOR EACH ROW EXECUTE FUNCTION registry_bundle_is_immutable();
"""
NO_BUNDLE_TRIGGER = """
DROP TRIGGER registry_bundle_is_immutable ON registry_agentconfigbundle;
DROP FUNCTION registry_bundle_is_immutable();
"""
# All names of task types: those that agents serve, and those that teams publish.
TASK_TYPE_NAMES = """
CREATE VIEW registry_tasktypename AS
SELECT name, ''::varchar(63) AS team FROM registry_servedtasktype
UNION
SELECT name, team FROM registry_claimrecord WHERE kind = 'task_type' AND established AND gone_at IS NULL;
"""
# What a caller may read depends on teams: streams of events check their rights again when teams change.
TEAM_MOVES_EPOCH = """
CREATE TRIGGER publishing_team_moves_epoch
    AFTER INSERT OR UPDATE OF organisation, publishers OR DELETE OR TRUNCATE ON registry_publishingteam
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('access', '0001_initial'),
    ]

    operations = [
        # A trusted extension: the owner of the database may create it.
        TrigramExtension(),
        migrations.CreateModel(
            name='TaskTypeName',
            fields=[
                ('name', models.CharField(max_length=200, primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=63)),
            ],
            options={
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Admission',
            fields=[
                ('principal_id', models.UUIDField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('environment', models.CharField(blank=True, max_length=255)),
                ('service_types', models.JSONField()),
                ('needs_approval', models.BooleanField()),
            ],
        ),
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255, unique=True)),
                ('environment', models.CharField(db_index=True, max_length=255)),
                ('service_types', models.JSONField(default=list)),
                ('service_type_conditions', models.JSONField(db_default=[], default=list)),
                ('task_types', models.JSONField(db_default=[], default=list)),
                ('cost', models.CharField(choices=[('low', 'low'), ('medium-low', 'medium-low'), ('medium', 'medium'), ('medium-high', 'medium-high'), ('high', 'high')], max_length=16)),
                ('topic_name', models.CharField(max_length=255, unique=True)),
                ('resources_available', models.JSONField(null=True)),
                ('state', models.CharField(choices=[('registered', 'registered'), ('ready', 'ready'), ('congested', 'congested'), ('draining', 'draining'), ('unavailable', 'unavailable'), ('unknown', 'unknown'), ('retired', 'retired')], default='ready', max_length=16)),
                ('state_reason', models.CharField(max_length=255)),
                ('state_since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('retired_for_silence', models.BooleanField(db_default=False, default=False)),
                ('dismissed', models.BooleanField(db_default=False, default=False)),
                ('flap_penalty', models.FloatField(db_default=0)),
                ('flapped_at', models.DateTimeField(null=True)),
                ('steady_since', models.DateTimeField(null=True)),
                ('labels', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('capacity', models.IntegerField(null=True)),
                ('drain_reason', models.CharField(blank=True, db_default='', default='', max_length=255)),
                ('drain_until', models.DateTimeField(null=True)),
                ('registered_by', models.UUIDField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfig',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('source', models.CharField(choices=[('api', 'api'), ('folder', 'folder'), ('kubernetes', 'kubernetes')], max_length=16)),
                ('team', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('text', models.TextField()),
                ('digest', models.CharField(max_length=64)),
                ('generation', models.IntegerField(default=1)),
                ('diagnostics', models.JSONField(default=list)),
                ('is_parsed', models.BooleanField(default=True)),
                ('is_valid', models.BooleanField(default=True)),
                ('content', models.JSONField(null=True)),
                ('content_generation', models.IntegerField(default=0)),
                ('content_seen_at', models.DateTimeField(null=True)),
                ('facts', models.JSONField(default=dict)),
                ('canary', models.JSONField(null=True)),
                ('recent_changes', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('changed_by', models.CharField(max_length=63)),
                ('deleted_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigBundle',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('revision', models.IntegerField()),
                ('parent', models.IntegerField()),
                ('digest', models.CharField(max_length=64)),
                ('text', models.TextField()),
                ('body', models.JSONField()),
                ('changes', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_by', models.CharField(max_length=63)),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigCluster',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('is_synced', models.BooleanField(default=True)),
                ('digest', models.CharField(blank=True, default='', max_length=64)),
                ('confirmed_digest', models.CharField(blank=True, default='', max_length=64)),
                ('problems', models.JSONField(default=list)),
                ('pending', models.JSONField(null=True)),
                ('checked_at', models.DateTimeField(null=True)),
                ('loaded_at', models.DateTimeField(null=True)),
                ('watcher', models.CharField(blank=True, default='', max_length=255)),
                ('counts', models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigFolder',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('is_synced', models.BooleanField(default=True)),
                ('digest', models.CharField(blank=True, default='', max_length=64)),
                ('confirmed_digest', models.CharField(blank=True, default='', max_length=64)),
                ('problems', models.JSONField(default=list)),
                ('pending', models.JSONField(null=True)),
                ('checked_at', models.DateTimeField(null=True)),
                ('loaded_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigGeneration',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('number', models.IntegerField()),
                ('content', models.JSONField()),
                ('facts', models.JSONField(null=True)),
                ('canary', models.JSONField(null=True)),
                ('made_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigGrant',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=63)),
                ('kind', models.CharField(choices=[('agent', 'agent'), ('task_type', 'task_type'), ('default', 'default'), ('endpoint', 'endpoint')], max_length=16)),
                ('pattern', models.CharField(max_length=128)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_by', models.CharField(max_length=63)),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigPace',
            fields=[
                ('team', models.CharField(max_length=63, primary_key=True, serialize=False)),
                ('left', models.FloatField()),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigPart',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=63)),
                ('documents', models.JSONField(default=list)),
                ('held', models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigQuarantine',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('reason', models.CharField(max_length=16)),
                ('message', models.CharField(blank=True, default='', max_length=1000)),
                ('generation', models.IntegerField(default=0)),
                ('fallback', models.IntegerField(default=0)),
                ('until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_by', models.CharField(max_length=63)),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigRelease',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=63)),
                ('kind', models.CharField(choices=[('agent', 'agent'), ('task_type', 'task_type'), ('default', 'default'), ('endpoint', 'endpoint')], max_length=16)),
                ('name', models.CharField(max_length=128)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='AgentConfigStatus',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('conditions', models.JSONField(default=list)),
                ('conflicts', models.JSONField(default=list)),
                ('observations', models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name='AgentEndpoint',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('endpoint', models.CharField(max_length=1000)),
                ('insecure', models.BooleanField()),
                ('status', models.CharField(choices=[('True', 'True'), ('False', 'False'), ('Unknown', 'Unknown')], db_default='Unknown', max_length=8)),
                ('reason', models.CharField(db_default='NotProbed', max_length=32)),
                ('message', models.CharField(db_default='', max_length=500)),
                ('leaning', models.CharField(choices=[('True', 'True'), ('False', 'False'), ('Unknown', 'Unknown')], db_default='Unknown', max_length=8)),
                ('streak', models.IntegerField(db_default=0)),
                ('due_at', models.DateTimeField()),
                ('checked_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='AgentTally',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('environment', models.CharField(max_length=255)),
                ('state', models.CharField(max_length=16)),
                ('step', models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='ClaimRecord',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('team', models.CharField(max_length=63)),
                ('kind', models.CharField(choices=[('agent', 'agent'), ('task_type', 'task_type'), ('default', 'default'), ('endpoint', 'endpoint')], max_length=16)),
                ('name', models.CharField(max_length=200)),
                ('version', models.IntegerField(default=0)),
                ('pin', models.CharField(blank=True, default='', max_length=200)),
                ('source', models.CharField(max_length=16)),
                ('document', models.CharField(max_length=253)),
                ('first_accepted_at', models.DateTimeField()),
                ('established', models.BooleanField(default=False)),
                ('gone_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='DataPlane',
            fields=[
                ('name', models.CharField(max_length=63, primary_key=True, serialize=False)),
                ('version', models.IntegerField(default=1)),
                ('dialect', models.CharField(choices=[('agent', 'agent'), ('connector', 'connector'), ('connector-v2', 'connector-v2')], default='agent', max_length=16)),
                ('release', models.CharField(max_length=32)),
                ('enabled_plugins', models.JSONField(default=list)),
                ('platform', models.JSONField(default=dict)),
                ('placeholders', models.JSONField(default=list)),
                ('teams', models.JSONField(default=list)),
                ('principal', models.CharField(blank=True, default='', max_length=63)),
                ('stage', models.IntegerField(db_default=0, default=0)),
                ('config_map', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('inputs_digest', models.CharField(blank=True, default='', max_length=64)),
                ('active_revision', models.IntegerField(default=0)),
                ('activated_at', models.DateTimeField(null=True)),
                ('latest_revision', models.IntegerField(default=0)),
                ('applied_revision', models.IntegerField(default=0)),
                ('held', models.JSONField(null=True)),
                ('approved', models.JSONField(default=list)),
                ('rejected', models.JSONField(default=list)),
                ('trial', models.JSONField(null=True)),
                ('ack_state', models.CharField(blank=True, default='', max_length=16)),
                ('acked_at', models.DateTimeField(null=True)),
                ('ack_errors', models.JSONField(default=list)),
                ('alerted_revision', models.IntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Environment',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255, unique=True)),
                ('guard_engaged_at', models.DateTimeField(null=True)),
                ('guard_lifted_at', models.DateTimeField(null=True)),
                ('guard_reason', models.CharField(db_default='', max_length=255)),
                ('guard_due_count', models.IntegerField(db_default=0)),
                ('guard_agent_count', models.IntegerField(db_default=0)),
                ('configuration_etag', models.CharField(db_default='', max_length=160)),
                ('heard_at', models.DateTimeField(null=True)),
                ('hearing_since', models.DateTimeField(null=True)),
                ('lease_seconds', models.IntegerField(null=True)),
                ('guard_mode', models.CharField(db_default='', max_length=8)),
                ('guard_mode_set_at', models.DateTimeField(null=True)),
                ('guard_mode_until', models.DateTimeField(null=True)),
                ('guard_mode_set_by', models.CharField(db_default='', max_length=63)),
            ],
        ),
        migrations.CreateModel(
            name='JoinToken',
            fields=[
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=63)),
                ('hint', models.CharField(max_length=16)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('name_pattern', models.CharField(max_length=255)),
                ('environment', models.CharField(blank=True, default='', max_length=255)),
                ('service_types', models.JSONField(default=list)),
                ('needs_approval', models.BooleanField(default=False)),
                ('may_take_over', models.BooleanField(default=False)),
                ('uses_left', models.IntegerField()),
                ('created_by', models.CharField(max_length=63)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(null=True)),
                ('issuer_id', models.UUIDField(db_index=True, null=True)),
            ],
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
            ],
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
            ],
        ),
        migrations.CreateModel(
            name='PublishingTeam',
            fields=[
                ('name', models.CharField(max_length=63, primary_key=True, serialize=False)),
                ('organisation', models.CharField(blank=True, default='', max_length=63)),
                ('publishers', models.JSONField(default=list)),
                ('version', models.IntegerField(default=1)),
            ],
        ),
        migrations.CreateModel(
            name='RepeatableJoin',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('join_token_id', models.UUIDField()),
                ('key_digest', models.BinaryField(max_length=32)),
                ('body_digest', models.BinaryField(max_length=32)),
                ('principal_id', models.UUIDField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
        ),
        migrations.CreateModel(
            name='ServedTaskType',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=128)),
                ('version', models.CharField(db_default='', max_length=63)),
                ('since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='SweepRecord',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('last_sweep_at', models.DateTimeField(null=True)),
                ('reachable_since', models.DateTimeField(null=True)),
                ('live_count', models.IntegerField(db_default=0)),
            ],
        ),
        migrations.CreateModel(
            name='AgentReport',
            fields=[
                ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='report', serialize=False, to='registry.agent')),
                ('conditions', models.JSONField(default=list)),
                ('versions', models.JSONField(default=dict)),
                ('providers', models.JSONField(default=list)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='Lease',
            fields=[
                ('agent', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='registry.agent')),
                ('renewed_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('reported_at', models.DateTimeField(null=True)),
                ('consumer_lag', models.BigIntegerField(default=0)),
                ('state', models.CharField(db_default='ready', max_length=16)),
                ('generation', models.IntegerField(db_default=1)),
                ('lease_seconds', models.IntegerField(null=True)),
                ('instance_uuid', models.UUIDField(null=True)),
                ('rival_uuid', models.UUIDField(null=True)),
                ('rival_since', models.DateTimeField(null=True)),
                ('rival_announced', models.BooleanField(db_default=False, default=False)),
                ('token_digest', models.BinaryField(max_length=32, null=True)),
                ('token_expires_at', models.DateTimeField(null=True)),
                ('report_digest', models.BinaryField(max_length=16, null=True)),
                ('vouched_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddIndex(
            model_name='agent',
            index=models.Index(fields=['state', 'name'], name='agent_by_state'),
        ),
        migrations.AddIndex(
            model_name='agent',
            index=models.Index(fields=['environment', 'name'], name='agent_by_environment'),
        ),
        migrations.AddIndex(
            model_name='agent',
            index=models.Index(fields=['state_since', 'name'], name='agent_by_since'),
        ),
        migrations.AddIndex(
            model_name='agent',
            index=models.Index(fields=['created_at', 'name'], name='agent_by_creation'),
        ),
        migrations.AddIndex(
            model_name='agent',
            index=django.contrib.postgres.indexes.GinIndex(fields=['labels'], name='agent_by_label', opclasses=['jsonb_path_ops']),
        ),
        migrations.AddIndex(
            model_name='agent',
            index=django.contrib.postgres.indexes.GinIndex(fields=['service_types'], name='agent_by_service', opclasses=['jsonb_path_ops']),
        ),
        migrations.AddIndex(
            model_name='agent',
            index=django.contrib.postgres.indexes.GinIndex(fields=['name'], name='agent_by_part_of_name', opclasses=['gin_trgm_ops']),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['registered', 'ready', 'congested', 'draining', 'unavailable', 'unknown', 'retired'])), name='agent_state_is_known'),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.CheckConstraint(condition=models.Q(('cost__in', ['low', 'medium-low', 'medium', 'medium-high', 'high'])), name='agent_cost_is_known'),
        ),
        migrations.AddIndex(
            model_name='agentconfig',
            index=models.Index(fields=['team', 'name', 'source'], name='agent_config_by_team'),
        ),
        migrations.AddConstraint(
            model_name='agentconfig',
            constraint=models.UniqueConstraint(fields=('source', 'team', 'name'), name='agent_config_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='agentconfig',
            constraint=models.CheckConstraint(condition=models.Q(('source__in', ('api', 'folder', 'kubernetes'))), name='agent_config_source_is_known'),
        ),
        migrations.AddConstraint(
            model_name='agentconfigcluster',
            constraint=models.CheckConstraint(condition=models.Q(('id', 1)), name='agent_config_cluster_is_one_row'),
        ),
        migrations.AddConstraint(
            model_name='agentconfigfolder',
            constraint=models.CheckConstraint(condition=models.Q(('id', 1)), name='agent_config_folder_is_one_row'),
        ),
        migrations.AddField(
            model_name='agentconfiggeneration',
            name='document',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='generations', to='registry.agentconfig'),
        ),
        migrations.AddConstraint(
            model_name='agentconfiggrant',
            constraint=models.UniqueConstraint(fields=('kind', 'pattern', 'team'), name='agent_config_grant_is_unique'),
        ),
        migrations.AddField(
            model_name='agentconfigquarantine',
            name='document',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='quarantines', to='registry.agentconfig'),
        ),
        migrations.AddConstraint(
            model_name='agentconfigrelease',
            constraint=models.UniqueConstraint(fields=('kind', 'name', 'team'), name='agent_config_release_is_unique'),
        ),
        migrations.AddField(
            model_name='agentconfigstatus',
            name='document',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='statuses', to='registry.agentconfig'),
        ),
        migrations.AddIndex(
            model_name='agentendpoint',
            index=models.Index(fields=['due_at'], name='agent_endpoint_by_due_at'),
        ),
        migrations.AddConstraint(
            model_name='agentendpoint',
            constraint=models.UniqueConstraint(fields=('endpoint', 'insecure'), name='agent_endpoint_is_unique'),
        ),
        migrations.AddField(
            model_name='claimrecord',
            name='data_plane',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='claims', to='registry.dataplane'),
        ),
        migrations.AddField(
            model_name='agentconfigstatus',
            name='data_plane',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='statuses', to='registry.dataplane'),
        ),
        migrations.AddField(
            model_name='agentconfigquarantine',
            name='data_plane',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to='registry.dataplane'),
        ),
        migrations.AddField(
            model_name='agentconfigpart',
            name='data_plane',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='registry.dataplane'),
        ),
        migrations.AddField(
            model_name='agentconfigbundle',
            name='data_plane',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bundles', to='registry.dataplane'),
        ),
        migrations.AddConstraint(
            model_name='environment',
            constraint=models.CheckConstraint(condition=models.Q(('guard_mode__in', ['', 'engage', 'lift'])), name='environment_guard_mode_is_known'),
        ),
        migrations.AddConstraint(
            model_name='jointoken',
            constraint=models.CheckConstraint(condition=models.Q(('uses_left__gte', 0)), name='join_token_uses'),
        ),
        migrations.AddField(
            model_name='provider',
            name='agent',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='service_providers', to='registry.agent'),
        ),
        migrations.AddField(
            model_name='providerchange',
            name='agent',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='registry.agent'),
        ),
        migrations.AddIndex(
            model_name='repeatablejoin',
            index=models.Index(fields=['created_at'], name='repeatable_join_by_age'),
        ),
        migrations.AddConstraint(
            model_name='repeatablejoin',
            constraint=models.UniqueConstraint(fields=('join_token_id', 'key_digest'), name='repeatable_join_key'),
        ),
        migrations.AddField(
            model_name='servedtasktype',
            name='agent',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='served_task_types', to='registry.agent'),
        ),
        migrations.AddConstraint(
            model_name='sweeprecord',
            constraint=models.CheckConstraint(condition=models.Q(('id', 1)), name='sweep_record_is_one_row'),
        ),
        migrations.AddField(
            model_name='lease',
            name='environment',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, to='registry.environment'),
        ),
        migrations.AddConstraint(
            model_name='agentconfiggeneration',
            constraint=models.UniqueConstraint(fields=('document', 'number'), name='agent_config_generation_is_unique'),
        ),
        migrations.AddIndex(
            model_name='claimrecord',
            index=models.Index(fields=['name', 'kind'], name='agent_config_claim_by_name'),
        ),
        migrations.AddConstraint(
            model_name='claimrecord',
            constraint=models.UniqueConstraint(fields=('data_plane', 'kind', 'name', 'version', 'pin', 'team'), name='agent_config_claim_is_unique'),
        ),
        migrations.AddIndex(
            model_name='agentconfigstatus',
            index=models.Index(condition=models.Q(('conflicts', []), _negated=True), fields=['id'], name='agent_config_conflicts'),
        ),
        migrations.AddConstraint(
            model_name='agentconfigstatus',
            constraint=models.UniqueConstraint(fields=('document', 'data_plane'), name='agent_config_status_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='agentconfigquarantine',
            constraint=models.UniqueConstraint(fields=('document', 'data_plane'), name='agent_config_quarantine_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='agentconfigquarantine',
            constraint=models.UniqueConstraint(condition=models.Q(('data_plane', None)), fields=('document',), name='agent_config_quarantine_everywhere_is_unique'),
        ),
        migrations.AddIndex(
            model_name='agentconfigpart',
            index=models.Index(fields=['team'], name='agent_config_part_by_team'),
        ),
        migrations.AddConstraint(
            model_name='agentconfigpart',
            constraint=models.UniqueConstraint(fields=('data_plane', 'team'), name='agent_config_part_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='agentconfigbundle',
            constraint=models.UniqueConstraint(fields=('data_plane', 'revision'), name='agent_config_bundle_is_unique'),
        ),
        migrations.AddConstraint(
            model_name='provider',
            constraint=models.UniqueConstraint(fields=('agent', 'name'), name='provider_name_of_agent'),
        ),
        migrations.AddConstraint(
            model_name='provider',
            constraint=models.UniqueConstraint(fields=('agent', 'provider_id'), name='provider_id_of_agent'),
        ),
        migrations.AddConstraint(
            model_name='provider',
            constraint=models.UniqueConstraint(condition=models.Q(('holds_type', True)), fields=('agent', 'service_type'), name='provider_serves_type_alone'),
        ),
        migrations.AddConstraint(
            model_name='provider',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['ready', 'unhealthy', 'unavailable'])), name='provider_state_is_known'),
        ),
        migrations.AddIndex(
            model_name='providerchange',
            index=models.Index(fields=['agent', 'provider_id', '-id'], name='change_by_provider'),
        ),
        migrations.AddIndex(
            model_name='servedtasktype',
            index=models.Index(fields=['name', 'version', 'id'], name='task_type_by_name'),
        ),
        migrations.AddConstraint(
            model_name='servedtasktype',
            constraint=models.UniqueConstraint(fields=('agent', 'name', 'version'), name='task_type_once_of_agent'),
        ),
        migrations.AddIndex(
            model_name='lease',
            index=models.Index(fields=['token_digest'], name='lease_by_token'),
        ),
        migrations.RunSQL(FIRST_ROWS, migrations.RunSQL.noop),
        migrations.RunSQL(LEASE_STORAGE, migrations.RunSQL.noop),
        migrations.RunSQL(LEASE_TRIGGERS, NO_LEASE_TRIGGERS),
        migrations.RunSQL(COUNTS, NO_COUNTS),
        migrations.RunSQL(BUNDLES_ARE_IMMUTABLE, NO_BUNDLE_TRIGGER),
        migrations.RunSQL(TASK_TYPE_NAMES, 'DROP VIEW registry_tasktypename'),
        migrations.RunSQL(TEAM_MOVES_EPOCH, 'DROP TRIGGER publishing_team_moves_epoch ON registry_publishingteam'),
    ]
