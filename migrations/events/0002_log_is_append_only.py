"""Events are never changed: only the empty `seq` is filled, once. And the numbering gets its row."""

from django.db import migrations

FORWARD = """
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
BACKWARD = """
DROP TRIGGER event_log_is_append_only ON events_event;
DROP FUNCTION events_refuse_change();
DELETE FROM events_numbering;
"""


class Migration(migrations.Migration):
    dependencies = [("events", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
