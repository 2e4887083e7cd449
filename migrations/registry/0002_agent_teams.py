"""Agents and join tokens of teams. Whatever changes the grants of a caller ends the permits of its heartbeats."""

import django.db.models.deletion
from django.db import migrations, models


# As in 0001_initial, for roles that a principal has by a team, operators' own roles, and new owners. The order
# of locks is that of registry/heartbeats/permits.py: the row that gives the right, then the lease.
PERMITS = """
CREATE OR REPLACE FUNCTION registry_forget_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL
    WHERE token_digest IN (
        SELECT digest FROM access_token WHERE principal_id = OLD.principal_id
        UNION ALL
        SELECT token.digest FROM access_token AS token
        JOIN access_membership AS membership ON membership.principal_id = token.principal_id
        WHERE membership.team_id = OLD.team_id
    );
    RETURN NULL;
END $$;

CREATE FUNCTION registry_forget_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL
    WHERE token_digest IN (SELECT digest FROM access_token WHERE principal_id = OLD.principal_id);
    RETURN NULL;
END $$;
CREATE TRIGGER membership_ends_permits
    AFTER UPDATE OF team_id, principal_id OR DELETE ON access_membership
    FOR EACH ROW EXECUTE FUNCTION registry_forget_member();

CREATE FUNCTION registry_forget_role() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL
    WHERE token_digest IN (
        SELECT token.digest FROM access_token AS token
        JOIN access_rolebinding AS binding ON binding.principal_id = token.principal_id
        WHERE binding.custom_role_id = OLD.id
        UNION ALL
        SELECT token.digest FROM access_token AS token
        JOIN access_membership AS membership ON membership.principal_id = token.principal_id
        JOIN access_rolebinding AS binding ON binding.team_id = membership.team_id
        WHERE binding.custom_role_id = OLD.id
    );
    RETURN NULL;
END $$;
CREATE TRIGGER custom_role_ends_permits
    AFTER UPDATE OF actions OR DELETE ON access_customrole
    FOR EACH ROW EXECUTE FUNCTION registry_forget_role();

CREATE FUNCTION registry_forget_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL WHERE agent_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER owner_ends_permits
    AFTER UPDATE OF team_id ON registry_agent
    FOR EACH ROW WHEN (OLD.team_id IS DISTINCT FROM NEW.team_id) EXECUTE FUNCTION registry_forget_owner();
"""
NO_PERMITS = """
DROP TRIGGER owner_ends_permits ON registry_agent;
DROP TRIGGER custom_role_ends_permits ON access_customrole;
DROP TRIGGER membership_ends_permits ON access_membership;
DROP FUNCTION registry_forget_owner();
DROP FUNCTION registry_forget_role();
DROP FUNCTION registry_forget_member();
CREATE OR REPLACE FUNCTION registry_forget_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE registry_lease SET token_digest = NULL
    WHERE token_digest IN (SELECT digest FROM access_token WHERE principal_id = OLD.principal_id);
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0001_initial'),
        ('access', '0002_teams'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='team',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='access.team'),
        ),
        migrations.AddField(
            model_name='jointoken',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='access.team'),
        ),
        migrations.RunSQL(PERMITS, NO_PERMITS),
    ]
