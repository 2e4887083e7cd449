"""A real standby of a Postgres of the tests: a copy by pg_basebackup that follows by streaming."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from controlplane.local.binaries import postgres_home
from controlplane.local.privileges import choose_user_switch
from tests.support.waiting import until

# At least those of the primary, or it does not start.
_SETTINGS = {
    "max_connections": "200",
    "listen_addresses": "",
    "shared_buffers": "32MB",
    "fsync": "off",
    "timezone": "UTC",
    "hot_standby_feedback": "off",
    "max_standby_streaming_delay": "0",
    "wal_receiver_status_interval": "1",
}


class Standby:
    """The server, from its start to `stop`. delay: of the replay of commits, such as `2s`."""

    def __init__(self, primary_url: str, *, delay: str = "0") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cp-standby-"))
        self._data = self.folder / "data"
        self._log = self.folder / "postgres.log"
        self._primary = conninfo_to_dict(primary_url)
        self._delay = delay
        switch = choose_user_switch(postgres_home() / "bin" / "initdb", self.folder)
        if switch.owner != self.folder.stat().st_uid:
            shutil.chown(self.folder, switch.owner)
        self._prefix = switch.prefix
        self._copy()
        self.start()

    def url(self, database: str, user: str = "controlplane") -> str:
        """Return the URL of a database."""
        return f"postgresql://{user}@/{database}?host={quote(str(self.folder), safe='')}&port=5432"

    def start(self) -> None:
        """Start it, and wait until it follows its primary."""
        self._start()
        until(self._answers, 60, lambda: self._log.read_text()[-2000:])

    def promote_alone(self) -> None:
        """Start it without its primary, as after the loss of a region, and make it one."""
        self._start(primary_conninfo="")
        until(lambda: self._reads("SELECT pg_is_in_recovery()") == "True", 60)
        self._run("SELECT pg_promote(true, 60)")
        until(lambda: self._reads("SELECT pg_is_in_recovery()") == "False", 60)

    def has_replayed(self, position: str) -> bool:
        """Return whether it shows all that the primary had written at the position."""
        return self._run(f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn") == "True"

    def _start(self, **more: str) -> None:
        settings = {
            **_SETTINGS,
            "recovery_min_apply_delay": self._delay,
            "unix_socket_directories": str(self.folder),
            "port": "5432",
            **more,
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        with self._log.open("ab") as log:
            command = [*self._prefix, self._program("postgres"), "-D", str(self._data), *options]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self) -> None:
        """End it at once, with all its connections."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(20)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def pause(self) -> None:
        """Stop to replay, while it goes on to receive."""
        self._run("SELECT pg_wal_replay_pause()")
        until(lambda: self._run("SELECT pg_get_wal_replay_pause_state()") == "paused")

    def resume(self) -> None:
        self._run("SELECT pg_wal_replay_resume()")

    def _reads(self, statement: str) -> str:
        """Return the answer; empty while it does not accept connections."""
        try:
            return self._run(statement)
        except psycopg.OperationalError:
            return ""

    def _run(self, statement: str) -> str:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            row = connection.execute(statement).fetchone()
        return str(row[0]) if row else ""

    def _copy(self) -> None:
        source = f"host={self._primary['host']} port={self._primary.get('port', 5432)} user=controlplane"
        command = [*self._prefix, self._program("pg_basebackup"), "--pgdata", str(self._data)]
        options = ["--dbname", source, "--checkpoint=fast", "--wal-method=stream"]
        done = subprocess.run(
            [*command, *options, "--write-recovery-conf", "--no-sync", "--no-manifest"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"pg_basebackup failed: {done.stderr[-2000:]}")

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"The standby ended: {self._log.read_text()[-2000:]}")
        try:
            return self._run("SELECT status FROM pg_stat_wal_receiver") == "streaming"
        except psycopg.OperationalError:
            return False

    def _program(self, name: str) -> str:
        return str(postgres_home() / "bin" / name)
