"""The event log."""

import controlplane.ids
import django.contrib.postgres.indexes
import django.db.models.functions.datetime
from django.db import migrations, models

# Events are never changed: only the empty `seq` is filled, once. And the numbering gets its row.
LOG_IS_APPEND_ONLY = """
INSERT INTO events_numbering (id, last_seq) VALUES (1, 0);
CREATE FUNCTION events_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.seq IS NULL AND NEW.seq IS NOT NULL
       AND to_jsonb(NEW) - 'seq' = to_jsonb(OLD) - 'seq' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the event log is append-only';
END $$;
CREATE TRIGGER event_log_is_append_only BEFORE UPDATE OR DELETE ON events_event
    FOR EACH ROW EXECUTE FUNCTION events_refuse_change();
"""
NO_LOG_TRIGGER = """
DROP TRIGGER event_log_is_append_only ON events_event;
DROP FUNCTION events_refuse_change();
DELETE FROM events_numbering;
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Event',
            fields=[
                ('position', models.BigAutoField(primary_key=True, serialize=False)),
                ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, unique=True)),
                ('seq', models.BigIntegerField(null=True, unique=True)),
                ('type', models.CharField(max_length=63)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('object_type', models.CharField(max_length=63)),
                ('object_id', models.CharField(max_length=1200)),
                ('domain', models.CharField(blank=True, default='', max_length=255)),
                ('project', models.CharField(blank=True, default='', max_length=255)),
                ('workflow', models.CharField(blank=True, default='', max_length=255)),
                ('launch_plan', models.CharField(blank=True, default='', max_length=255)),
                ('actor', models.CharField(max_length=63)),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('data', models.JSONField()),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('seq__isnull', True)), fields=['position'], name='event_not_numbered'), models.Index(fields=['object_type', 'object_id', 'seq'], name='event_by_object'), django.contrib.postgres.indexes.BrinIndex(autosummarize=True, fields=['at'], name='event_by_time')],
            },
        ),
        migrations.CreateModel(
            name='Numbering',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('last_seq', models.BigIntegerField(default=0)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='numbering_is_one_row')],
            },
        ),
        migrations.RunSQL(LOG_IS_APPEND_ONLY, NO_LOG_TRIGGER),
    ]
