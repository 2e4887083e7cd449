"""Join tokens, labels, capacity, draining, and counts by state. Quick: new tables and constant defaults."""

from django.db import migrations, models
from django.db.models.functions import Now

from controlplane.ids import uuid7

_STATES = ["registered", "ready", "congested", "draining", "unavailable", "unknown", "retired"]
_BEFORE = ["ready", "congested", "unavailable", "unknown"]


def _check(states):
    words = ", ".join(f"'{one}'" for one in states)
    return f"""
ALTER TABLE registry_agent
    DROP CONSTRAINT agent_state_is_known,
    ADD CONSTRAINT agent_state_is_known CHECK (state IN ({words})) NOT VALID
"""


_BACK = f"""
UPDATE registry_agent SET state = 'unavailable' WHERE state IN ('registered', 'draining', 'retired');
{_check(_BEFORE)}
"""
# Steps and not counts: agents that change at the same time must not wait for one row.
_TALLY = """
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
LOCK TABLE registry_agent IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO registry_agenttally (environment, state, step)
SELECT environment, state, count(*) FROM registry_agent GROUP BY environment, state;
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
_NO_TALLY = """
DROP TRIGGER agent_is_counted ON registry_agent;
DROP TRIGGER agent_is_counted_off ON registry_agent;
DROP TRIGGER agent_is_counted_elsewhere ON registry_agent;
DROP TRIGGER agents_are_counted_anew ON registry_agent;
DROP FUNCTION registry_tally();
DROP FUNCTION registry_tally_moves();
DROP FUNCTION registry_tally_anew();
"""


class Migration(migrations.Migration):
    dependencies = [("registry", "0005_leases_for_fleets")]

    operations = [
        migrations.CreateModel(
            "AgentTally",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("environment", models.CharField(max_length=255)),
                ("state", models.CharField(max_length=16)),
                ("step", models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            "JoinToken",
            [
                ("id", models.UUIDField(default=uuid7, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=63)),
                ("hint", models.CharField(max_length=16)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("name_pattern", models.CharField(max_length=255)),
                ("environment", models.CharField(blank=True, default="", max_length=255)),
                ("service_types", models.JSONField(default=list)),
                ("needs_approval", models.BooleanField(default=False)),
                ("may_take_over", models.BooleanField(default=False)),
                ("uses_left", models.IntegerField()),
                ("created_by", models.CharField(max_length=63)),
                ("created_at", models.DateTimeField(db_default=Now(), editable=False)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("uses_left__gte", 0)), name="join_token_uses")
                ]
            },
        ),
        migrations.AddField(
            "agent",
            "labels",
            models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.AddField("agent", "capacity", models.IntegerField(null=True)),
        migrations.AddField(
            "agent",
            "drain_reason",
            models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
        migrations.AddField("agent", "drain_until", models.DateTimeField(null=True)),
        migrations.AlterField(
            "agent",
            "state",
            models.CharField(choices=[(one, one) for one in _STATES], default="ready", max_length=16),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint("agent", "agent_state_is_known"),
                migrations.AddConstraint(
                    "agent",
                    models.CheckConstraint(
                        condition=models.Q(("state__in", _STATES)), name="agent_state_is_known"
                    ),
                ),
            ],
            database_operations=[migrations.RunSQL(_check(_STATES), _BACK)],
        ),
        migrations.RunSQL(_TALLY, _NO_TALLY),
    ]
