"""The event log and the audit log as monthly partitions, and the functions that maintain them.

The functions belong to the migrator. The worker may call them, but may itself neither create nor drop a table.
Logs that have rows stay as they are until `manage.py partition_logs`; empty ones become partitions here.
"""

from django.db import migrations

FUNCTIONS = """
INSERT INTO events_compaction (id, dropped_seq) VALUES (1, 0) ON CONFLICT DO NOTHING;

-- A table with the columns and the unique columns of a log, and no rights for web and worker: they reach its
-- rows through the log, whose policies and rights apply.
CREATE FUNCTION retention_new_table(log text, name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    role_name text;
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION)',
                   name, log);
    IF log = 'events_event' THEN
        EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (position), ADD UNIQUE (id), ADD UNIQUE (seq)', name);
    ELSE
        EXECUTE format('ALTER TABLE %I ADD PRIMARY KEY (id)', name);
    END IF;
    -- Also where a superuser calls this.
    EXECUTE format('ALTER TABLE %I OWNER TO %I', name,
                   (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = log::regclass));
    FOR role_name IN SELECT rolname FROM pg_roles WHERE rolname IN ('controlplane_web', 'controlplane_worker')
    LOOP
        EXECUTE format('REVOKE ALL ON %I FROM %I', name, role_name);
    END LOOP;
END $$;

CREATE FUNCTION retention_check_log(log text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF log NOT IN ('events_event', 'access_auditrecord') THEN
        RAISE EXCEPTION '% is not a log', log;
    END IF;
    IF (SELECT relkind FROM pg_class WHERE oid = log::regclass) <> 'p' THEN
        RAISE EXCEPTION '% is not partitioned: run manage.py partition_logs', log;
    END IF;
END $$;

-- ATTACH lets writers go on: it waits for nobody who inserts into other partitions.
CREATE FUNCTION retention_make_partition(log text, month timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    name text := log || to_char(month, '_YYYY_MM');
BEGIN
    PERFORM retention_check_log(log);
    IF month <> date_trunc('month', month) OR month > now() + interval '2 years' THEN
        RAISE EXCEPTION '% is not the start of a month within two years', month;
    END IF;
    PERFORM retention_new_table(log, name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   log, name, month, month + interval '1 month');
END $$;

-- Rows in the default partition mean that their month was missing.
CREATE FUNCTION retention_default_rows(log text, OUT count bigint, OUT first_at timestamptz,
                                       OUT last_at timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM retention_check_log(log);
    EXECUTE format('SELECT count(*), min(at), max(at) FROM %I', log || '_default')
       INTO count, first_at, last_at;
END $$;

-- The default partition becomes the partition of the missing months, and gets an empty successor.
CREATE FUNCTION retention_adopt_default(log text, lower_at timestamptz, upper_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    spare text := log || '_default';
    name text := log || to_char(lower_at, '_YYYY_MM');
    index_name text;
BEGIN
    PERFORM retention_check_log(log);
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', log, spare);
    FOR index_name IN SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = spare::regclass LOOP
        EXECUTE format('ALTER INDEX %s RENAME TO %I', index_name,
                       'adopted_' || to_char(lower_at, 'YYYYMM_') || md5(index_name));
    END LOOP;
    EXECUTE format('ALTER TABLE %I RENAME TO %I', spare, name);
    PERFORM retention_new_table(log, spare);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   log, name, lower_at, upper_at);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', log, spare);
END $$;

-- Turn a log into a partitioned table with the old table as its first partition, which ends at the boundary.
-- Needs a validated check `at < boundary`, or the old table is scanned under the lock; an empty one is dropped.
CREATE FUNCTION retention_turn(log text, boundary timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    key text := CASE log WHEN 'events_event' THEN 'position' ELSE 'id' END;
    legacy text := log || '_legacy';
    sequence text := log || '_' || key || '_seq';
    next_key bigint;
    has_rows boolean;
    definitions text[];
    definition text;
    named record;
BEGIN
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', log);
    IF (SELECT relkind FROM pg_class WHERE oid = log::regclass) = 'p' THEN
        RETURN;
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM %I)', log) INTO has_rows;
    EXECUTE format('SELECT last_value + CASE WHEN is_called THEN 1 ELSE 0 END FROM %s',
                   pg_get_serial_sequence(log, key)) INTO next_key;
    definitions := ARRAY(
        SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = log::regclass AND NOT indisunique
        UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger
                   WHERE tgrelid = log::regclass AND NOT tgisinternal);
    FOR named IN SELECT tgname FROM pg_trigger WHERE tgrelid = log::regclass AND NOT tgisinternal LOOP
        EXECUTE format('DROP TRIGGER %I ON %I', named.tgname, log);
    END LOOP;
    FOR named IN SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid
                  WHERE indrelid = log::regclass LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', named.relname, left(named.relname, 50) || '_legacy');
    END LOOP;
    EXECUTE format('ALTER TABLE %I ALTER %I DROP IDENTITY', log, key);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', log, legacy);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION)'
                   ' PARTITION BY RANGE (at)', log, legacy);
    EXECUTE format('CREATE SEQUENCE %I START %s OWNED BY %I.%I', sequence, next_key, log, key);
    EXECUTE format('ALTER TABLE %I ALTER %I SET DEFAULT nextval(%L)', log, key, sequence);
    EXECUTE format('ALTER TABLE %I OWNER TO %I', log,
                   (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = legacy::regclass));
    FOREACH definition IN ARRAY definitions LOOP
        EXECUTE definition;
    END LOOP;
    IF has_rows THEN
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)',
                       log, legacy, boundary);
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', legacy, log || '_boundary');
        FOR named IN SELECT rolname FROM pg_roles WHERE rolname IN ('controlplane_web', 'controlplane_worker')
        LOOP
            EXECUTE format('REVOKE ALL ON %I FROM %I', legacy, named.rolname);
        END LOOP;
    ELSE
        EXECUTE format('DROP TABLE %I', legacy);
    END IF;
    PERFORM retention_new_table(log, log || '_default');
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', log, log || '_default');
    FOR offset_months IN 0..3 LOOP
        IF NOT has_rows OR date_trunc('month', now()) + make_interval(months => offset_months) >= boundary THEN
            PERFORM retention_make_partition(
                log, date_trunc('month', now()) + make_interval(months => offset_months));
        END IF;
    END LOOP;
END $$;

-- The check of a turn that was never finished would refuse rows after its boundary.
CREATE FUNCTION retention_remove_boundary(log text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF log NOT IN ('events_event', 'access_auditrecord') THEN
        RAISE EXCEPTION '% is not a log', log;
    END IF;
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', log, log || '_boundary');
END $$;

REVOKE ALL ON FUNCTION retention_remove_boundary, retention_new_table, retention_make_partition, retention_default_rows,
    retention_adopt_default, retention_turn FROM PUBLIC;
"""
NO_FUNCTIONS = """
DROP FUNCTION retention_remove_boundary, retention_turn, retention_adopt_default, retention_default_rows, retention_make_partition,
    retention_check_log, retention_new_table;
"""
EMPTY_LOGS = """
DO $$
DECLARE
    log text;
    has_rows boolean;
BEGIN
    FOREACH log IN ARRAY ARRAY['events_event', 'access_auditrecord'] LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', log) INTO has_rows;
        IF NOT has_rows THEN
            PERFORM retention_turn(log, NULL);
        END IF;
    END LOOP;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ("retention", "0001_initial"),
        ("events", "0004_compaction"),
        ("access", "0010_audit_chain"),
    ]

    operations = [
        migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS),
        migrations.RunSQL(EMPTY_LOGS, migrations.RunSQL.noop),
    ]
