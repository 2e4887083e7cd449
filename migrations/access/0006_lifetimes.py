from django.db import migrations, models


class Migration(migrations.Migration):
    # Nullable columns without a default: Postgres only changes its catalogue, at any size of the table.
    dependencies = [("access", "0002_teams")]

    operations = [
        migrations.AddField(model_name="token", name="auth_time", field=models.DateTimeField(null=True)),
        migrations.AddField(
            model_name="auditrecord", name="client", field=models.CharField(max_length=255, null=True)
        ),
        migrations.AddField(
            model_name="auditrecord", name="identity", field=models.CharField(max_length=600, null=True)
        ),
        migrations.AddField(
            model_name="auditrecord", name="session_hint", field=models.CharField(max_length=32, null=True)
        ),
    ]
