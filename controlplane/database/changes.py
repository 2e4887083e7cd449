"""Changes that Postgres refuses: it is a standby, or an operator has paused changes.

All of our loops survive an absence of Postgres, and survive this like one.
"""

from __future__ import annotations

from typing import Any

from django.db import OperationalError, connection
from django.db.utils import DatabaseErrorWrapper
from psycopg.errors import ReadOnlySqlTransaction

# What the trigger of migrations/installation names, to tell a pause from a standby.
PAUSE = "installation_pause"


class ChangesRefused(OperationalError):
    """Postgres accepts no changes, and nothing was changed. reason: of a pause; None: it is a standby."""

    reason: str | None = None


class ErrorWrapper(DatabaseErrorWrapper):
    """Django's wrapper, for which a refused change would be an internal error."""

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is not None and issubclass(kind, ReadOnlySqlTransaction):
            refused = ChangesRefused(*error.args)
            if error.diag.constraint_name == PAUSE:
                refused.reason = error.diag.message_detail
            raise refused.with_traceback(traceback) from error
        super().__exit__(kind, error, traceback)


def accepts_changes() -> bool:
    """Return whether Postgres accepts changes. If not, reads go on, and changes get 503 `read_only`."""
    with connection.cursor() as cursor:
        cursor.execute(_ACCEPTS_CHANGES)
        return bool(cursor.fetchone()[0])


_ACCEPTS_CHANGES = """
SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'
   AND NOT EXISTS (SELECT FROM installation_pause WHERE is_on)
"""
