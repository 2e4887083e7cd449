"""No state of a session: behind a pooler, the next transaction has another connection."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

_STATE = re.compile(
    r"""pg_(?:try_)?advisory_(?:unlock|lock)   # locks that outlive their transaction
      | ["';]\s*SET\s+(?!LOCAL\b)\w+\s*(?:=|\bTO\b)
      | set_config\([^)]*,\s*false\s*\)
      | \b(?:LISTEN|UNLISTEN)\s+[a-z_]+["';]
      | CREATE\s+TEMP(?:ORARY)?\s+TABLE(?!.*ON\s+COMMIT\s+DROP)
    """,
    re.VERBOSE,
)
# Connects to the Postgres of `make up` itself, before anybody else does.
_EXEMPT = {"controlplane/local/postgres.py"}
_SOURCES = [
    path
    for package in ("controlplane", "overrides", "registry", "console", "migrations")
    for path in sorted((ROOT / package).rglob("*.py"))
]


def found_in(text: str) -> list[str]:
    return [match.group().strip() for line in text.splitlines() for match in _STATE.finditer(line)]


@pytest.mark.parametrize(
    ("text", "finds"),
    [
        ('cursor.execute("SET statement_timeout = 0")', True),
        ("""execute("SELECT 1; SET work_mem TO '1GB'")""", True),
        ('execute("SET LOCAL lock_timeout = 1")', False),
        ("SELECT pg_try_advisory_lock(1)", True),
        ("SELECT pg_advisory_xact_lock(1)", False),
        ("SELECT set_config('app.organisation', %s, false)", True),
        ("SELECT set_config('app.organisation', %s, true)", False),
        ('execute("LISTEN events")', True),
        ('"CREATE TEMPORARY TABLE lines (line jsonb)"', True),
        ('"CREATE TEMPORARY TABLE lines (line jsonb) ON COMMIT DROP"', False),
        ("UPDATE pools_pool SET capacity = 3", False),
    ],
)
def test_the_search_finds_state_of_sessions(text: str, finds: bool):
    assert bool(found_in(text)) is finds


def test_no_statement_leaves_state_in_its_session():
    def name(path: Path) -> str:
        return path.relative_to(ROOT).as_posix()

    found = {name(path): states for path in _SOURCES if (states := found_in(path.read_text()))}
    assert {path: states for path, states in found.items() if path not in _EXEMPT} == {}
