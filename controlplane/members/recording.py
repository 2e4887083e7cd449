"""The version that changed the schema, recorded after `migrate`."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connections

from controlplane import __version__
from controlplane.members.versions import OLDEST_PROCESS, numbers


def record_schema(**of_signal: Any) -> None:
    """Record this version, unless a newer one has migrated before. A handler of `post_migrate`."""
    with connections[of_signal["using"]].cursor() as cursor:
        cursor.execute("SELECT to_regclass('members_schemarecord') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return
    rows = apps.get_model("members", "SchemaRecord").objects.using(of_signal["using"])
    row = rows.filter(id=1).first()
    if row is not None and numbers(row.version) > numbers(__version__):
        return
    rows.update_or_create(id=1, defaults={"version": __version__, "oldest_process": OLDEST_PROCESS})
