from django.db import migrations, models


class Migration(migrations.Migration):
    # Of text, so that only the catalogue changes.
    widens = ("registry_agentconfig.source", "registry_claimrecord.source")

    dependencies = [
        ('registry', '0013_registered_clusters'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='agentconfig',
            name='agent_config_source_is_known',
        ),
        migrations.AlterField(
            model_name='agentconfig',
            name='source',
            field=models.CharField(max_length=40),
        ),
        migrations.AlterField(
            model_name='claimrecord',
            name='source',
            field=models.CharField(max_length=40),
        ),
    ]
