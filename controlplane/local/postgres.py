"""Postgres on a private Unix socket: the record of everything, kept durably unless told otherwise."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import psycopg

from controlplane.database.roles import establish
from controlplane.local.binaries import postgres_home
from controlplane.local.errors import CannotStart
from controlplane.local.privileges import Disguise, choose_disguise, take_over
from controlplane.local.programs import Program, run_to_end, tail
from controlplane.local.socket_folder import socket_folder

USER = "controlplane"
DATABASE = "controlplane"
_PORT = 5432
_TUNING = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "random_page_cost": "1.1",
    "wal_compression": "on",
    "max_wal_size": "2GB",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
# Only for tests: a crash of the machine loses the folder anyway.
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
_INITDB = (
    *("-U", USER, "--auth-local=trust", "--auth-host=reject", "--no-instructions"),
    # The wheel is built without ICU.
    *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
)
# No process has this number: the kernel's largest is 2^22.
_NOBODY = "2147483647"


class Postgres:
    """One server on one data folder. `prepare` makes the folder ready, `program` says how to start it."""

    name = "postgres"
    # It gives up at once where sessions of a killed predecessor have not ended yet.
    retries = 5

    def __init__(self, data: Path, log: Path, *, durable: bool) -> None:
        self.data = data
        self.log = log
        self.durable = durable
        self.sockets = socket_folder(data)

    @property
    def url(self) -> str:
        """As the superuser, for those who create databases and roles."""
        return self._url(DATABASE)

    def url_for(self, role: str) -> str:
        return self._url(DATABASE, role)

    def establish_roles(self) -> None:
        """Create the roles of controlplane.database.roles; hand over tables of an older version."""
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10s'")
            # On this socket nobody needs a password: only its owner reaches it.
            establish(cursor, passwords={})

    def prepare(self, *, pause: Callable[[float], None] = time.sleep) -> None:
        """Make the data folder on first use; clear away what a killed server left."""
        if not self.data.exists():
            self._initialise(pause)
        take_over(self.data, self._disguise.owner)
        for stale in self.sockets.glob(".s.PGSQL.*"):
            stale.unlink(missing_ok=True)
        disown(self.data / "postmaster.pid")

    def program(self) -> Program:
        durability = _DURABLE if self.durable else _NOT_DURABLE
        settings = {**_TUNING, **durability, "port": str(_PORT), "unix_socket_directories": self.sockets}
        options = [f"--{name}={value}" for name, value in settings.items()]
        return self._program("postgres", "-D", str(self.data), *options)

    def ready(self) -> bool:
        """True once it takes connections; makes our database the first time."""
        try:
            with psycopg.connect(self._url("postgres"), autocommit=True, connect_timeout=2) as connection:
                known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
                if not known.fetchone():
                    connection.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg.OperationalError:
            return False
        return True

    def clear_away(self) -> None:
        """After it has stopped: leave nothing in /tmp."""
        with contextlib.suppress(OSError):  # not empty: something still uses it
            self.sockets.rmdir()

    @cached_property
    def _disguise(self) -> Disguise:
        return choose_disguise(postgres_home() / "bin" / "initdb", self.data.parent)

    def _initialise(self, pause: Callable[[float], None]) -> None:
        """Under another name until it is whole: who is interrupted here starts afresh next time."""
        draft = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700, parents=True)
        take_over(draft, self._disguise.owner)
        extra = () if self.durable else ("--no-sync",)
        if run_to_end(self._program("initdb", "-D", str(draft), *_INITDB, *extra), pause=pause):
            raise CannotStart(f"initdb failed. Its log, {self.log}, ends with:\n{tail(self.log, 20)}")
        draft.rename(self.data)

    def _program(self, binary: str, *arguments: str) -> Program:
        return Program(
            self.name,
            (*self._disguise.prefix, str(postgres_home() / "bin" / binary), *arguments),
            self.log,
            environment={"LC_ALL": "C", "TZ": "UTC"},
            # SIGINT is "fast": end sessions, write a checkpoint. SIGTERM would wait for every client.
            stop_signal=signal.SIGINT,
            withheld=("PG", "LC_", "LANG"),
        )

    def _url(self, database: str, user: str = USER) -> str:
        # The port too, or the operator's PGPORT would look for another socket.
        return f"postgresql://{user}@/{database}?host={quote(str(self.sockets), safe='')}&port={_PORT}"


def disown(pid_file: Path) -> None:
    """Name no process in a stale pid file. The caller knows that no server runs on its folder.

    The number may by now be a zombie or any other process, and Postgres would refuse to start.
    The rest stays: from it Postgres finds out whether sessions of the dead server live on.
    """
    try:
        content = pid_file.read_text()
    except FileNotFoundError:
        return
    pid_file.write_text(re.sub(r"\A\d+", _NOBODY, content))
