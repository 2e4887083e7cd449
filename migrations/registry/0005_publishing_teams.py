"""Publishing teams become teams, and a data plane can belong to a team.

The new table is beside the old one, which the release after this one drops.
"""

import django.db.models.deletion
from django.db import migrations, models

# What a caller may read depends on organisations: streams of events check their rights again when they change.
ORGANISATION_MOVES_EPOCH = """
CREATE TRIGGER team_publishing_moves_epoch
    AFTER INSERT OR UPDATE OF organisation OR DELETE OR TRUNCATE ON registry_teampublishing
    FOR EACH STATEMENT EXECUTE FUNCTION access_move_epoch();
"""
NO_ORGANISATION_MOVES_EPOCH = "DROP TRIGGER team_publishing_moves_epoch ON registry_teampublishing;"
# The version covers the publishers, which are role bindings. A team gets its row with its first publisher.
PUBLISHERS_ARE_COUNTED = """
CREATE FUNCTION registry_count_publishers() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    binding access_rolebinding := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF binding.role <> 'publisher' OR binding.owned_by_id IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE registry_teampublishing SET version = version + 1 WHERE team_id = binding.owned_by_id;
    IF NOT FOUND AND TG_OP <> 'DELETE' THEN
        INSERT INTO registry_teampublishing (team_id) VALUES (binding.owned_by_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER publishers_are_counted
    AFTER INSERT OR UPDATE OR DELETE ON access_rolebinding
    FOR EACH ROW EXECUTE FUNCTION registry_count_publishers();
"""
PUBLISHERS_ARE_NOT_COUNTED = """
DROP TRIGGER publishers_are_counted ON access_rolebinding;
DROP FUNCTION registry_count_publishers();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0004_issuer_joins'),
        ('access', '0002_teams'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel(name='PublishingTeam')],
        ),
        migrations.CreateModel(
            name='PublishingTeam',
            fields=[
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='publishing', serialize=False, to='access.team')),
                ('organisation', models.CharField(blank=True, db_default='', default='', max_length=63)),
                ('version', models.IntegerField(db_default=1, default=1)),
            ],
            options={
                'db_table': 'registry_teampublishing',
            },
        ),
        migrations.AddField(
            model_name='dataplane',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='data_planes', to='access.team'),
        ),
        migrations.RunSQL(ORGANISATION_MOVES_EPOCH, NO_ORGANISATION_MOVES_EPOCH),
        migrations.RunSQL(PUBLISHERS_ARE_COUNTED, PUBLISHERS_ARE_NOT_COUNTED),
    ]
