"""What a caller may read depends on teams: streams of events look at their rights again when teams change."""

from django.db import migrations

FORWARD = """
CREATE TRIGGER publishing_team_moves_epoch
    AFTER INSERT OR UPDATE OF organisation, publishers OR DELETE OR TRUNCATE ON registry_publishingteam
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""
BACKWARD = "DROP TRIGGER publishing_team_moves_epoch ON registry_publishingteam;"


class Migration(migrations.Migration):
    dependencies = [("registry", "0019_join_token_issuers"), ("access", "0003_epoch")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
