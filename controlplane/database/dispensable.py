"""Writes whose loss does no harm, such as when a token was last used. No read fails or waits for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from controlplane.database.changes import ChangesRefused


def write_if_possible(write: Callable[[], Any]) -> None:
    """Write without waiting for the disk or a standby; do nothing if Postgres accepts no changes."""
    try:
        with transaction.atomic():
            _wait_for_nobody()
            write()
    except ChangesRefused:
        return


def _wait_for_nobody() -> None:
    if connection.savepoint_ids:
        # A transaction around this one may have changes that must be durable.
        return
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
