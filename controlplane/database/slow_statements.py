"""Log lines of slow statements, with the id of the request that waited for them."""

from __future__ import annotations

import re
import time
from typing import Any

import structlog
from django.conf import settings
from django.db.backends.utils import CursorWrapper

_MOST_LETTERS = 2000
# Statements have placeholders for values, but for those that libpq gets as text.
_LITERAL = re.compile(r"'[^']*'")
log = structlog.get_logger(__name__)


class TimedCursor(CursorWrapper):
    """Django's cursor, which logs statements that take long."""

    def execute(self, sql: Any, params: Any = None) -> Any:
        began_at = time.perf_counter()
        try:
            return super().execute(sql, params)
        finally:
            note_statement(sql, began_at)

    def executemany(self, sql: Any, param_list: Any) -> Any:
        began_at = time.perf_counter()
        try:
            return super().executemany(sql, param_list)
        finally:
            note_statement(sql, began_at)


def note_statement(statement: Any, began_at: float) -> None:
    """Log a statement if it took long, also if it failed. began_at: by `time.perf_counter`."""
    took = (time.perf_counter() - began_at) * 1000
    limit = settings.DATABASE_SLOW_STATEMENT_MS
    if limit and took >= limit:
        log.warning(
            "database.slow_statement", statement=without_values(statement), duration_ms=round(took, 1)
        )


def without_values(statement: Any) -> str:
    """Return the statement on one line, shortened, without quoted values, which may be secrets."""
    text = statement.decode(errors="replace") if isinstance(statement, bytes) else str(statement)
    return _LITERAL.sub("'…'", " ".join(text.split()))[:_MOST_LETTERS]
