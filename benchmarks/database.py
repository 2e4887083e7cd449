"""What Postgres alone does: the very statement of a read, by pgbench."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.machine import CLIENT_CPUS
from controlplane.local.binaries import postgres_home

# The ladder of a workflow, as overrides/loading/layers.py passes it.
_PROJECT = "('p' || (:project)::int)"
_DOMAIN = "(ARRAY['development','staging','production'])[(:domain)::int]"
_WORKFLOW = "('w' || (:workflow)::int)"
_KEYS = {
    "projects": f"ARRAY[{_PROJECT}]",
    "domains": f"ARRAY[{_DOMAIN}]",
    "p": f"ARRAY['', '', {_PROJECT}, {_PROJECT}, {_PROJECT}]",
    "d": f"ARRAY['', {_DOMAIN}, '', {_DOMAIN}, {_DOMAIN}]",
    "w": f"ARRAY['', '', '', '', {_WORKFLOW}]",
    "l": "ARRAY['', '', '', '', '']",
    "type": "''",
    "as_of": "NULL",
}


def script(projects: int) -> str:
    """Our statement with the parameters written as expressions, for pgbench's prepared mode."""
    from overrides.loading.layers import _LAYERS, _ROWS_NOW  # Django must be set up

    statement = _LAYERS.format(rows=_ROWS_NOW)
    statement = re.sub(r"%\((\w+)\)s", lambda found: f"({_KEYS[found[1]]})", statement)
    return (
        f"\\set project random(0, {projects - 1})\n\\set domain random(1, 3)\n\\set workflow random(0, 29)\n"
        f"{' '.join(statement.split())};\n"
    )


def pgbench() -> str | None:
    own = Path(postgres_home()) / "bin" / "pgbench"
    return str(own) if own.exists() else shutil.which("pgbench")


def rate(url: str, projects: int, folder: Path, *, clients: int, seconds: int) -> float:
    """Statements of a cold read per second."""
    return rate_of(script(projects), url, folder, clients=clients, seconds=seconds)


def rate_of(script: str, url: str, folder: Path, *, clients: int, seconds: int) -> float:
    """Statements of pgbench's script per second."""
    program = pgbench()
    if program is None:
        raise FileNotFoundError("pgbench is not here")
    file = folder / "read.sql"
    file.write_text(script)
    command = [program, "--no-vacuum", "--protocol=prepared", f"--client={clients}", "--jobs=1"]
    done = subprocess.run(
        [*command, f"--time={seconds}", f"--file={file}", url],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
        preexec_fn=lambda: os.sched_setaffinity(0, CLIENT_CPUS),
    )
    match = re.search(r"tps = ([\d.]+)", done.stdout)
    assert match, done.stdout
    return float(match[1])


def settle(connection: psycopg.Connection[Any]) -> None:
    """Leave no work of loading behind, so that it is not measured: statistics, dead rows, dirty pages.

    The role that owns the tables may not write a checkpoint; only a superuser's connection does.
    """
    connection.execute("VACUUM ANALYZE")
    row = connection.execute("SELECT pg_has_role('pg_checkpoint', 'USAGE')").fetchone()
    if row and row[0]:
        connection.execute("CHECKPOINT")
