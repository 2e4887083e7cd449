"""The function that drops an archived partition. It compares the partition with its archive first."""

from django.db import migrations

DROP_PARTITION = """
CREATE FUNCTION retention_drop_partition(log text, name text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    key text := CASE log WHEN 'events_event' THEN 'position' ELSE 'id' END;
    upper_bound timestamptz;
    archive retention_archive;
    kept record;
    dropped bigint;
    refused boolean;
BEGIN
    PERFORM retention_check_log(log);
    SELECT substring(pg_get_expr(relpartbound, pg_class.oid) FROM 'TO \\(''([^'']+)''\\)')::timestamptz
      INTO upper_bound
      FROM pg_class JOIN pg_inherits ON inhrelid = pg_class.oid
     WHERE relname = name AND inhparent = log::regclass;
    IF upper_bound IS NULL OR upper_bound > now() THEN
        RAISE EXCEPTION '% is not a past partition of %', name, log;
    END IF;
    SELECT * INTO archive FROM retention_archive AS one WHERE one.partition = name AND one.log = $1;
    IF archive.partition IS NULL OR archive.dropped_at IS NOT NULL THEN
        RAISE EXCEPTION '% has no verified archive', name;
    END IF;
    -- Late writers wait from here on.
    EXECUTE format('LOCK TABLE %I IN SHARE MODE', name);
    EXECUTE format('SELECT count(*) AS count, min(%1$I) AS first, max(%1$I) AS last FROM %2$I', key, name)
       INTO kept;
    IF (kept.count, kept.first, kept.last)
       IS DISTINCT FROM (archive.count, archive.first_key, archive.last_key) THEN
        RAISE EXCEPTION 'the archive of % has % rows, the partition has %', name, archive.count, kept.count;
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM retention_legalhold AS hold JOIN %I AS kept'
        ' ON (hold.domain = '''' OR hold.domain = kept.domain)'
        ' AND (hold.project = '''' OR hold.project = kept.project)'
        ' AND (hold.workflow = '''' OR hold.workflow = kept.workflow)'
        ' AND (hold.launch_plan = '''' OR hold.launch_plan = kept.launch_plan)'
        ' WHERE hold.released_at IS NULL AND (hold.until IS NULL OR hold.until > now()))', name) INTO refused;
    IF refused THEN
        RAISE EXCEPTION 'a legal hold keeps %', name;
    END IF;
    IF log = 'events_event' THEN
        EXECUTE format('SELECT coalesce(max(seq), 0), coalesce(bool_or(seq IS NULL), false) FROM %I', name)
           INTO dropped, refused;
        IF refused THEN
            RAISE EXCEPTION '% has events without numbers', name;
        END IF;
        UPDATE events_compaction SET dropped_seq = greatest(dropped_seq, dropped) WHERE id = 1;
    ELSE
        -- What is left must be the end of the chain.
        IF EXISTS (SELECT FROM pg_class JOIN pg_inherits ON inhrelid = pg_class.oid
                    WHERE inhparent = log::regclass
                      AND substring(pg_get_expr(relpartbound, pg_class.oid)
                                    FROM 'TO \\(''([^'']+)''\\)')::timestamptz < upper_bound) THEN
            RAISE EXCEPTION 'an older partition than % is kept', name;
        END IF;
        EXECUTE format('SELECT EXISTS (SELECT id FROM %I EXCEPT SELECT unnest(record_ids)'
            ' FROM access_auditsegment WHERE last_at >= (SELECT min(at) FROM %I))', name, name) INTO refused;
        IF refused THEN
            RAISE EXCEPTION '% has records that are not sealed', name;
        END IF;
    END IF;
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', log, name);
    EXECUTE format('DROP TABLE %I', name);
    IF log = 'access_auditrecord' THEN
        DELETE FROM access_auditsegment
         WHERE seal_id IN (SELECT number FROM access_auditseal WHERE day < upper_bound::date);
    END IF;
    UPDATE retention_archive AS one SET dropped_at = now() WHERE one.partition = name;
    RETURN kept.count;
END $$;
REVOKE ALL ON FUNCTION retention_drop_partition FROM PUBLIC;
"""


class Migration(migrations.Migration):

    dependencies = [("retention", "0002_log_partitions")]

    operations = [migrations.RunSQL(DROP_PARTITION, "DROP FUNCTION retention_drop_partition")]
