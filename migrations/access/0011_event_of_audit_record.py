from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("access", "0010_audit_chain")]

    operations = [
        # Without a default: Postgres changes the catalogue alone.
        migrations.AddField(
            model_name="auditrecord", name="event_id", field=models.UUIDField(null=True)
        ),
    ]
