"""Projects of organisations."""

import django.db.models.deletion
from django.db import migrations, models


# As for teams (0002_teams.py): a tenant's grants are confined to the projects of its organisation.
EPOCH = """
CREATE TRIGGER organisation_project_moves_epoch
    AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON access_organisationproject
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
CREATE TRIGGER new_team_moves_epoch AFTER INSERT ON access_team
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""
NO_EPOCH = """
DROP TRIGGER organisation_project_moves_epoch ON access_organisationproject;
DROP TRIGGER new_team_moves_epoch ON access_team;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('access', '0002_teams'),
    ]

    operations = [
        migrations.CreateModel(
            name='OrganisationProject',
            fields=[
                ('project', models.CharField(max_length=63, primary_key=True, serialize=False)),
                ('organisation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='projects', to='access.organisation')),
            ],
        ),
        migrations.RunSQL(EPOCH, NO_EPOCH),
    ]
