"""What a slow statement's log line says."""

from __future__ import annotations

import time

import pytest
from structlog.testing import capture_logs

from controlplane.database import slow_statements
from controlplane.database.slow_statements import note_statement, without_values


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("SELECT 1\n  FROM x", "SELECT 1 FROM x"),
        (b"SELECT 'pass''word', 'b'", "SELECT '…''…', '…'"),
        ("UPDATE t SET a = %s", "UPDATE t SET a = %s"),
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
        ("x" * 5000, "x" * 2000),
    ],
)
def test_values_are_left_out(statement, text):
    assert without_values(statement) == text


def test_only_what_took_longer_than_the_limit_has_a_line(settings):
    def lines(limit: int, took: float) -> list[float]:
        settings.DATABASE_SLOW_STATEMENT_MS = limit
        with capture_logs() as logs:
            # The logger may be cached, so that capture_logs would not see it.
            slow_statements.log = slow_statements.structlog.get_logger("test")
            note_statement("SELECT 1", time.perf_counter() - took)
        return [entry["duration_ms"] for entry in logs]

    assert lines(100, 0.01) == []
    assert lines(0, 50) == []
    (took,) = lines(100, 0.2)
    assert 200 <= took < 1000
