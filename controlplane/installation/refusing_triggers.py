"""The triggers that refuse changes during a pause: of all tables, also of those that migrations add later."""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.db.transaction import atomic

# The pause itself, and what tells who runs, which is known during a pause too.
EXEMPT = ("installation_pause", "members_member", "django_migrations")
NAME = "refuse_changes_in_pause"


def add_triggers(using: str, **of_signal: Any) -> None:
    """Add the missing triggers, each in a transaction of its own. A handler of `post_migrate`."""
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regproc('installation_refuse_changes') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return
        cursor.execute(_WITHOUT, {"name": NAME, "exempt": list(EXEMPT)})
        tables = [table for (table,) in cursor.fetchall()]
    for table in tables:
        with atomic(using), connection.cursor() as cursor:
            # Quoted by Postgres itself.
            cursor.execute(_CREATE.format(name=NAME, table=table))


# Rows of a partition are reached through its table.
_WITHOUT = """
SELECT oid::regclass::text FROM pg_class AS one
 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
   AND relname <> ALL(%(exempt)s) AND pg_has_role(relowner, 'USAGE')
   AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = one.oid AND tgname = %(name)s)
 ORDER BY relname
"""
_CREATE = """
CREATE TRIGGER {name} BEFORE INSERT OR UPDATE OR DELETE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION installation_refuse_changes()
"""
