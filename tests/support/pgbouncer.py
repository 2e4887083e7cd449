"""A real PgBouncer in transaction mode, before the Postgres of the tests."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from controlplane.local.binaries import postgres_home
from controlplane.local.privileges import choose_user_switch
from controlplane.local.programs import free_port

_USERS = ("controlplane", "controlplane_migrator", "controlplane_web", "controlplane_worker")


def is_installed() -> bool:
    """Return whether the program is on this machine."""
    return shutil.which("pgbouncer") is not None


class PgBouncer:
    """The pooler, from its start to `stop`. pool_size: connections to Postgres for each user and database."""

    def __init__(self, database_url: str, *, pool_size: int = 20) -> None:
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="cp-pooler-"))
        self._parts = conninfo_to_dict(database_url)
        self._write(pool_size)
        # It refuses to run as root, and must reach the folder of the socket of Postgres.
        switch = choose_user_switch(postgres_home() / "bin" / "initdb", self._folder)
        self._log = self._folder / "pgbouncer.log"
        with self._log.open("wb") as log:
            command = [*switch.prefix, "pgbouncer", "-q", str(self._folder / "pgbouncer.ini")]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def url(self, user: str = "controlplane", database: str | None = None) -> str:
        """Return the URL of a database through the pooler."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database or self._parts['dbname']}"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, pool_size: int) -> None:
        self._folder.chmod(0o755)
        (self._folder / "users.txt").write_text("".join(f'"{user}" ""\n' for user in _USERS))
        server = f"host={self._parts['host']} port={self._parts.get('port', 5432)}"
        (self._folder / "pgbouncer.ini").write_text(
            f"""[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = trust
auth_file = {self._folder}/users.txt
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 500
query_wait_timeout = 20
server_lifetime = 600
logfile =
"""
        )

    def _wait(self) -> None:
        until = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url(database="postgres"), connect_timeout=2).close()
            except psycopg.OperationalError:
                if time.monotonic() > until or self.process.poll() is not None:
                    raise RuntimeError(
                        f"PgBouncer does not answer: {self._log.read_text()[-2000:]}"
                    ) from None
                time.sleep(0.1)
            else:
                return
