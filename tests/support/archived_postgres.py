"""A Postgres that archives its write-ahead log, and is restored to a moment from a base backup."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import psycopg

from controlplane.local.binaries import postgres_home
from controlplane.local.postgres import Postgres
from controlplane.local.privileges import change_owner, choose_user_switch
from controlplane.local.programs import RunningProgram, start, stop_all
from tests.support.waiting import until

_ARCHIVED = "SELECT last_archived_wal FROM pg_stat_archiver"


class ArchivedPostgres:
    """The server, its base backup and its archive, in a folder that its user may enter."""

    def __init__(self, folder: Path) -> None:
        self._server = Postgres(folder / "data", folder / "postgres.log", durable=True)
        self._archive, self._base = folder / "archive", folder / "base"
        self._switch = choose_user_switch(postgres_home() / "bin" / "initdb", folder)
        for part in (self._archive, self._base):
            part.mkdir(mode=0o700)
            change_owner(part, self._switch.owner)
        self._server.prepare()
        self._running = self._start()

    @property
    def url(self) -> str:
        return self._server.url

    def back_up(self) -> None:
        """Make the base backup."""
        program = str(postgres_home() / "bin" / "pg_basebackup")
        options = ("--pgdata", str(self._base), "--dbname", self.url, "--checkpoint=fast", "--no-sync")
        subprocess.run((*self._switch.prefix, program, *options), check=True, capture_output=True)

    def lose(self) -> None:
        """Archive what was written, and lose the data folder."""
        with psycopg.connect(self.url, autocommit=True) as session:
            (segment,) = self._row(session, "SELECT pg_walfile_name(pg_switch_wal())")
            until(lambda: (self._row(session, _ARCHIVED)[0] or "") >= segment)
        self._running.kill()
        shutil.rmtree(self._server.data)

    def restore(self, moment: datetime) -> None:
        """Restore all that was committed before the moment, and go on from there."""
        shutil.copytree(self._base, self._server.data, symlinks=True)
        self._server.data.chmod(0o700)
        (self._server.data / "recovery.signal").touch()
        change_owner(self._server.data, self._switch.owner)
        for part in self._server.data.rglob("*"):
            shutil.chown(part, self._switch.owner)
        self._running = self._start(
            restore_command=f"cp {self._archive}/%f %p",
            recovery_target_time=moment.isoformat(),
            recovery_target_inclusive="off",
            recovery_target_action="promote",
        )
        until(self._accepts_changes, 60, lambda: self._server.log.read_text()[-2000:])

    def timeline(self) -> int:
        with psycopg.connect(self.url) as session:
            return int(self._row(session, "SELECT timeline_id FROM pg_control_checkpoint()")[0])

    def stop(self) -> None:
        stop_all([self._running], patience=10)
        self._server.clean_up()

    def _start(self, **settings: str) -> RunningProgram:
        program = self._server.program()
        archive = {"archive_mode": "on", "archive_command": f"cp %p {self._archive}/%f"}
        options = [f"--{name}={value}" for name, value in {**archive, **settings}.items()]
        running = start(replace(program, command=(*program.command, *options)))
        if not settings:
            until(self._server.ready, 60, lambda: self._server.log.read_text()[-2000:])
        return running

    def _accepts_changes(self) -> bool:
        try:
            with psycopg.connect(self.url) as session:
                return self._row(session, "SELECT NOT pg_is_in_recovery()")[0] is True
        except psycopg.OperationalError:
            return False

    @staticmethod
    def _row(session: psycopg.Connection, statement: str) -> tuple:
        row = session.execute(statement).fetchone()
        assert row is not None
        return row
