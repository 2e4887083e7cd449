"""Postgres on a private Unix socket: the record of everything, kept durably unless told otherwise."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import psycopg

from controlplane.embedded.binaries import postgres_home
from controlplane.embedded.privileges import Disguise, choose_disguise
from controlplane.embedded.programs import Program

USER = "controlplane"
DATABASE = "controlplane"
_LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--encoding=UTF8")
_TUNING = {
    "max_connections": "200",
    "shared_buffers": "256MB",
    "random_page_cost": "1.1",
    "wal_compression": "on",
    "max_wal_size": "2GB",
}
# Only for tests: a crash of the machine loses the folder anyway.
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_DURABLE = {"fsync": "on", "synchronous_commit": "on"}


class Postgres:
    """One server on one data folder. `prepare` makes the folder ready, `program` says how to start it."""

    name = "postgres"

    def __init__(self, data: Path, log: Path, *, durable: bool) -> None:
        self.data = data.resolve()
        self.log = log
        self.settings = {**_TUNING, **(_DURABLE if durable else _NOT_DURABLE)}
        self.sockets = _private_folder(self.data)
        self.disguise: Disguise = Disguise()

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/{DATABASE}?host={quote(str(self.sockets), safe='')}"

    def prepare(self) -> None:
        """Stop an orphan of ours, make the data folder on first use."""
        self.disguise = choose_disguise(postgres_home(), self.sockets)
        self.disguise.give(self.sockets)
        stop_orphan(self.data)
        if not (self.data / "PG_VERSION").exists():
            self._initialise()

    def program(self) -> Program:
        options = [f"-c{name}={value}" for name, value in self.settings.items()]
        command = (
            self._binary("postgres"),
            "-D",
            str(self.data),
            "-k",
            str(self.sockets),
            "-h",
            "",
            *options,
        )
        # SIGINT is "fast": end sessions, write a checkpoint. SIGTERM would wait for every client.
        return Program(self.name, (*self.disguise.prefix, *command), self.log, stop_signal=signal.SIGINT)

    def ready(self) -> bool:
        """True once it takes connections; makes our database the first time."""
        try:
            with psycopg.connect(self._admin_url, autocommit=True, connect_timeout=2) as connection:
                known = connection.execute(
                    "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
                ).fetchone()
                if not known:
                    connection.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg.OperationalError:
            return False
        return True

    def clean_up(self) -> None:
        remove_sockets(self.data)

    @property
    def _admin_url(self) -> str:
        return f"postgresql://{USER}@/postgres?host={quote(str(self.sockets), safe='')}"

    def _binary(self, name: str) -> str:
        return str(self.disguise.home / "bin" / name)

    def _initialise(self) -> None:
        self.disguise.give(self.data)
        command = (
            self._binary("initdb"), "-D", str(self.data), "-U", USER, "--no-instructions",
            "--auth-local=trust", "--auth-host=reject", *_LOCALE,
        )  # fmt: skip
        done = subprocess.run((*self.disguise.prefix, *command), capture_output=True, text=True, check=False)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text(done.stdout + done.stderr)
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")


def remove_sockets(data: Path) -> None:
    """Leave nothing in /tmp once the server has stopped."""
    shutil.rmtree(_private_path(data.resolve()), ignore_errors=True)


def stop_orphan(data: Path) -> None:
    """Stop a Postgres that an earlier supervisor, killed -9, left on this very folder."""
    pid = _postmaster(data)
    for number, patience in ((signal.SIGINT, 10.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 2.0)):
        if pid is None or not _is_postgres_on(pid, data):
            return
        os.kill(pid, number)
        deadline = time.monotonic() + patience
        while _is_postgres_on(pid, data) and time.monotonic() < deadline:
            time.sleep(0.05)


def _postmaster(data: Path) -> int | None:
    try:
        return int((data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None


def _is_postgres_on(pid: int, data: Path) -> bool:
    """A pid file alone proves nothing: the number may be another process' by now."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    # A zombie's command line is empty.
    return any(word.endswith(b"/postgres") for word in words) and os.fsencode(data) in words


def _private_path(data: Path) -> Path:
    """A short path for sockets (the kernel allows about 100 characters), the same at every start."""
    name = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    return Path(f"/tmp/cp-{os.geteuid()}-{name}")  # noqa: S108  (checked by _private_folder)


def _private_folder(data: Path) -> Path:
    """Make the folder; if somebody else made it first, stop and do not use it."""
    folder = _private_path(data)
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    ours = about.st_uid == os.geteuid() or os.geteuid() == 0
    if not stat.S_ISDIR(about.st_mode) or not ours or about.st_mode & 0o077:
        raise RuntimeError(f"{folder} is not a private folder of ours. Remove it, then start again.")
    return folder
