"""The access epoch moves with all that processes keep of a caller."""

from django.db import migrations

# Kept callers know their organisation, the limits of their token and the time of their login too. Nothing changes
# these today; whoever does so by hand is heard as well.
WIDER = """
CREATE OR REPLACE TRIGGER token_moves_epoch
    AFTER UPDATE OF id, principal_id, digest, expires_at, revoked_at, scopes, auth_time OR DELETE OR TRUNCATE
    ON access_token FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE OR REPLACE TRIGGER principal_moves_epoch
    AFTER UPDATE OF id, name, kind, is_active, organisation_id OR DELETE OR TRUNCATE
    ON access_principal FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE TRIGGER organisation_moves_epoch AFTER UPDATE OF slug ON access_organisation
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""
NARROWER = """
DROP TRIGGER organisation_moves_epoch ON access_organisation;
CREATE OR REPLACE TRIGGER token_moves_epoch
    AFTER UPDATE OF id, principal_id, digest, expires_at, revoked_at OR DELETE OR TRUNCATE
    ON access_token FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE OR REPLACE TRIGGER principal_moves_epoch
    AFTER UPDATE OF id, name, kind, is_active OR DELETE OR TRUNCATE
    ON access_principal FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0008_trusted_issuers'),
    ]

    operations = [
        migrations.RunSQL(WIDER, NARROWER),
    ]
