from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0010_job_run_artifacts'),
    ]

    operations = [
        migrations.AddField(
            model_name='resourcerow',
            name='started_at',
            field=models.DateTimeField(null=True),
        ),
    ]
