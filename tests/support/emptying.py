"""After a test that commits, put the database back as the migrations left it.

Django truncates all of some eighty tables each time, which takes Postgres half a second: each gets new files.
A test leaves rows in a few. These are deleted without triggers, under the locks that a TRUNCATE takes: what
transactions of other processes still write is waited for, and deleted.
"""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction
from django.test import TransactionTestCase

# Tables without a model; triggers of TRUNCATE give them new values, and those of DELETE do not run here.
_EPOCHS = ("access_epoch", "overrides_catalogueepoch")
# Deleted rows keep their place until a vacuum: tables that have grown beyond this get new files after all.
_LARGE = "4 MB"

_EMPTY = """
DO $$
DECLARE
    tables regclass[] := ARRAY[{names}]::regclass[];
    name regclass;
BEGIN
    SET LOCAL session_replication_role = replica;
    -- Rows of a partitioned table are in its partitions.
    SELECT array_agg(coalesce(part.relid, one)) INTO tables
      FROM unnest(tables) AS one LEFT JOIN LATERAL pg_partition_tree(one) AS part ON true
     WHERE coalesce(part.isleaf, true);
    IF EXISTS (SELECT FROM unnest(tables) AS one WHERE pg_relation_size(one) > pg_size_bytes('{large}')) THEN
        TRUNCATE {tables};
    ELSE
        FOR name IN SELECT one FROM unnest(tables) AS one WHERE pg_relation_size(one) > 0 LOOP
            EXECUTE format('DELETE FROM %s', name);
        END LOOP;
    END IF;
END $$;
"""


class Emptying:
    """The statements that empty the database, and then insert the rows that it has now."""

    def __init__(self) -> None:
        names = connection.introspection.django_table_names(only_existing=True, include_views=False)
        tables = ", ".join(f'"{name}"' for name in names)
        literals = ", ".join(f"'{name}'" for name in names)
        self._statements = [
            f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE;",
            _EMPTY.format(names=literals, tables=tables, large=_LARGE),
            *(f"UPDATE {name} SET epoch = gen_random_uuid();" for name in _EPOCHS),
            "SET LOCAL session_replication_role = replica;",
            *_rows_of(names),
        ]

    def run(self) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            # Without parameters, all of them are one message.
            cursor.execute("\n".join(self._statements))


def _rows_of(tables: list[str]) -> list[str]:
    """One INSERT for each table that has rows."""
    inserts = []
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f'SELECT quote_literal(json_agg(one)) FROM "{table}" AS one')
            if rows := cursor.fetchone()[0]:
                inserts.append(
                    f'INSERT INTO "{table}" SELECT * FROM json_populate_recordset(NULL::"{table}", {rows});'
                )
    return inserts


def empty_quickly() -> None:
    """From now on transactional tests leave the rows that are there now. Call it after the migrations."""
    emptying = Emptying()

    def tear_down(test_case: Any) -> None:
        emptying.run()

    TransactionTestCase._fixture_teardown = tear_down  # type: ignore[attr-defined]  # private: no stub
