"""What Postgres counts: WAL, updates of leases and their space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg

_FIGURES = """
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint, n_tup_upd, n_tup_hot_upd,
    pg_total_relation_size(relid), n_dead_tup, autovacuum_count
FROM pg_stat_user_tables WHERE relname = 'registry_lease'
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """wal: bytes written so far. updates, hot, dead: rows of the lease table. size: its bytes."""

    wal: int
    updates: int
    hot: int
    size: int
    dead: int
    vacuums: int


def read_figures(url: str) -> Figures:
    return Figures(*ask(url, _FIGURES))


def ask(url: str, statement: str, parameters: dict[str, Any] | None = None) -> tuple[Any, ...]:
    """Return the first row; empty if the statement has none. Raises psycopg.Error."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, parameters)
        row = cursor.fetchone() if cursor.description else None
        return tuple(row or ())
