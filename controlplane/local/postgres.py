"""Postgres on a private Unix socket, durable by default."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import psycopg

from controlplane.database.roles import establish
from controlplane.local.binaries import postgres_home
from controlplane.local.data_folder import stable_private_folder
from controlplane.local.errors import CannotStart
from controlplane.local.privileges import UserSwitch, change_owner, choose_user_switch
from controlplane.local.programs import Program, run_to_end, tail

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
# Only for tests, which do not need their data after a crash.
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
_INITDB = (
    *("-U", USER, "--auth-local=trust", "--auth-host=reject", "--no-instructions"),
    # The wheel is built without ICU.
    *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
)
# Not a valid process id: the kernel's maximum is 2^22.
_NO_PROCESS = "2147483647"


_LONGEST_PATH = 80


class Postgres:
    """A server with its data folder. `prepare` prepares the folder, `program` returns how to start it."""

    name = "postgres"
    # It exits immediately while sessions of a killed predecessor still run.
    retries = 5

    def __init__(self, data: Path, log: Path, *, durable: bool) -> None:
        self.data = data
        self.log = log
        self.durable = durable
        self.sockets = socket_folder(data)

    @property
    def url(self) -> str:
        """The URL for the superuser, to create databases and roles."""
        return self._url(DATABASE)

    def url_for(self, role: str) -> str:
        return self._url(DATABASE, role)

    def establish_roles(self) -> None:
        """Create the roles of controlplane.database.roles, and give them the tables of an older version."""
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10s'")
            # Only the owner can access this socket, so that no password is needed.
            establish(cursor, passwords={})

    def prepare(self, *, pause: Callable[[float], None] = time.sleep) -> None:
        """Create the data folder on first use, and clean up after a killed server."""
        if not self.data.exists():
            self._initialise(pause)
        change_owner(self.data, self._user_switch.owner)
        for stale in self.sockets.glob(".s.PGSQL.*"):
            stale.unlink(missing_ok=True)
        clear_process_id(self.data / "postmaster.pid")

    def program(self) -> Program:
        durability = _DURABLE if self.durable else _NOT_DURABLE
        settings = {**_TUNING, **durability, "port": str(_PORT), "unix_socket_directories": self.sockets}
        options = [f"--{name}={value}" for name, value in settings.items()]
        return self._program("postgres", "-D", str(self.data), *options)

    def ready(self) -> bool:
        """True once it accepts connections. Creates the database the first time."""
        try:
            with psycopg.connect(self._url("postgres"), autocommit=True, connect_timeout=2) as connection:
                databases = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
                if not databases.fetchone():
                    connection.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg.OperationalError:
            return False
        return True

    def clean_up(self) -> None:
        """Delete the socket folder after the server has stopped."""
        with contextlib.suppress(OSError):  # not empty: still in use
            self.sockets.rmdir()

    @cached_property
    def _user_switch(self) -> UserSwitch:
        return choose_user_switch(postgres_home() / "bin" / "initdb", self.data.parent)

    def _initialise(self, pause: Callable[[float], None]) -> None:
        """Create the data folder under another name until it is complete, for interrupted starts."""
        draft = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700, parents=True)
        change_owner(draft, self._user_switch.owner)
        extra = () if self.durable else ("--no-sync",)
        if run_to_end(self._program("initdb", "-D", str(draft), *_INITDB, *extra), pause=pause):
            raise CannotStart(f"initdb failed. End of {self.log}:\n{tail(self.log, 20)}")
        draft.rename(self.data)

    def _program(self, binary: str, *arguments: str) -> Program:
        return Program(
            self.name,
            (*self._user_switch.prefix, str(postgres_home() / "bin" / binary), *arguments),
            self.log,
            environment={"LC_ALL": "C", "TZ": "UTC"},
            # SIGINT is a fast shutdown, with a checkpoint. On SIGTERM it would wait for all clients to
            # disconnect.
            stop_signal=signal.SIGINT,
            withheld=("PG", "LC_", "LANG"),
        )

    def _url(self, database: str, user: str = USER) -> str:
        # With the port, or the operator's PGPORT would select another socket.
        return f"postgresql://{user}@/{database}?host={quote(str(self.sockets), safe='')}&port={_PORT}"


def clear_process_id(pid_file: Path) -> None:
    """Remove the process id from a stale pid file. The caller ensures that no server uses the folder.

    The id may have been reused, and Postgres would refuse to start. The rest of the file stays: Postgres uses
    it to detect remaining sessions of the dead server.
    """
    try:
        content = pid_file.read_text()
    except FileNotFoundError:
        return
    pid_file.write_text(re.sub(r"\A\d+", _NO_PROCESS, content))


def socket_folder(data: Path) -> Path:
    """Return a private folder for the socket, the same at each start unless somebody else owns it.

    Its path is short, because the kernel allows about 100 characters.
    """
    base = Path("/tmp") if os.access("/tmp", os.W_OK | os.X_OK) else Path(tempfile.gettempdir())  # noqa: S108
    name = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    path = base / f"cp-{os.geteuid()}-{name}"
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise CannotStart(f"The path {path} is too long for a socket. Set TMPDIR to a shorter path.")
    return stable_private_folder(base, path.name)
