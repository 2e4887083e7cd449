"""Facts for those who help from afar: settings, sizes of tables, and recent troubles. No secrets, no data.

Of an event, only what it is about is read: its data and who caused it stay here.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection

from controlplane.events.models import Event
from controlplane.extras import EXTRAS, is_installed
from controlplane.installation.shown_settings import ShownSetting, shown_settings
from controlplane.notifications.opposites import lasting_types

_MOST_TROUBLES = 200
_MOST_TABLES = 50


@dataclass(frozen=True, slots=True)
class Trouble:
    """An event that begins something bad, such as `agent.unavailable`."""

    seq: int
    type: str
    at: datetime
    object_type: str
    object_id: str


@dataclass(frozen=True, slots=True)
class Table:
    """rows: as Postgres estimates them."""

    name: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Support:
    """extras: optional parts, and whether they are installed. tables: the largest ones."""

    python: str
    postgres: str
    extras: Mapping[str, bool]
    settings: Sequence[ShownSetting]
    tables: Sequence[Table]
    troubles: Sequence[Trouble]


def read_support() -> Support:
    """Return what a support bundle has of the server that answers."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        (postgres,) = cursor.fetchone()
        cursor.execute(_TABLES, [_MOST_TABLES])
        tables = [Table(*row) for row in cursor.fetchall()]
    return Support(
        python=platform.python_version(),
        postgres=postgres,
        extras={name: is_installed(name) for name in sorted(EXTRAS)},
        settings=shown_settings(settings.DECLARED_SETTINGS.values()),
        tables=tables,
        troubles=_troubles(),
    )


def _troubles() -> list[Trouble]:
    names = [name for name in lasting_types() if not name.startswith("alertmanager.")]
    rows = Event.objects.numbered_before(None).filter(type__in=names)[:_MOST_TROUBLES]
    columns = rows.values_list("seq", "type", "at", "object_type", "object_id")
    return [Trouble(seq or 0, kind, at, type_, id_) for seq, kind, at, type_, id_ in columns]


_TABLES = """
SELECT relname, greatest(reltuples, 0)::bigint, pg_total_relation_size(oid)
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
 ORDER BY 3 DESC, 1 LIMIT %s
"""
