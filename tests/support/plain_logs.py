"""The event log as one plain table with rows, as installations have it that are older than its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from controlplane.database import roles
from controlplane.events.models import Event
from controlplane.installation.refusing_triggers import add_triggers

_TRIGGER = """
CREATE TRIGGER event_log_is_append_only BEFORE UPDATE OR DELETE ON events_event
    FOR EACH ROW EXECUTE FUNCTION events_refuse_change()
"""


@contextmanager
def plain_event_log() -> Iterator[None]:
    """Within, `events_event` is a plain empty table; afterwards it is partitioned and empty again."""
    _make_plain()
    try:
        yield
    finally:
        _make_plain()
        with connection.cursor() as cursor:
            cursor.execute("SELECT retention_turn('events_event', NULL)")
            roles.establish(cursor, passwords={})
        add_triggers(connection.alias)


@transaction.atomic
def _make_plain() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE events_event CASCADE")
    with connection.schema_editor(atomic=False) as editor:
        editor.create_model(Event)
    with connection.cursor() as cursor:
        cursor.execute(_TRIGGER)
        cursor.execute("UPDATE events_numbering SET last_seq = 0")
        roles.establish(cursor, passwords={})
