"""What the launcher decides without starting anything."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controlplane.local import CannotStart
from controlplane.local.data_folder import data_folder, hold_lock, secret_key, volatile_folder, write_private
from controlplane.local.errors import StopRequested
from controlplane.local.external_services import external_urls, operator_environment
from controlplane.local.launch import Options, banner
from controlplane.local.leftover_processes import MARK, ProcessInfo, belongs_to
from controlplane.local.postgres import clear_process_id, socket_folder
from controlplane.local.programs import ReservedPort
from controlplane.local.supervisor import Probe, Supervisor, next_delay

HOME = Path("/srv/cp")


def facts(*words: str, environment: str = "") -> ProcessInfo:
    return ProcessInfo(7, tuple(os.fsencode(word) for word in words), (os.fsencode(environment),))


@pytest.mark.parametrize(
    "process",
    [
        facts("/venv/bin/postgres", "-D", "/srv/cp/postgres", "--fsync=on"),
        facts("/venv/bin/nats-server", "-c", "/srv/cp/nats/server.json"),
        facts("/a venv/valkey-server 127.0.0.1:4711 /srv/cp/valkey/server.conf"),
        facts("python", "-m", "celery", environment=f"{MARK}=/srv/cp"),
    ],
)
def test_what_an_earlier_run_left_on_our_folder_is_ours(process: ProcessInfo) -> None:
    assert belongs_to(HOME, process)


@pytest.mark.parametrize(
    "process",
    [
        facts("/venv/bin/postgres", "-D", "/srv/cp2/postgres"),
        facts("/venv/bin/postgres", "-D", "/backup/srv/cp/postgres"),
        facts("/venv/bin/postgres", "-D", "/srv/cp/inner/postgres"),
        facts("ls", "-l", "/srv/cp/postgres"),
        facts("vi", "/srv/cp/nats/server.json"),
        facts("postgres: controlplane controlplane [local] idle"),
        facts("python", environment=f"{MARK}=/srv/cp2"),
        facts("python", environment=f"OTHER_{MARK}=/srv/cp"),
        ProcessInfo(7, (), ()),
    ],
)
def test_a_neighbour_an_editor_and_a_zombie_are_not_ours(process: ProcessInfo) -> None:
    assert not belongs_to(HOME, process)


def test_the_notes_of_another_run_are_not_taken_for_the_operators_words(tmp_path: Path) -> None:
    note = tmp_path / "environment"
    note.write_text("DATABASE_URL=postgresql:///theirs\nREDIS_URL=redis://theirs\n")
    environ = {"DATABASE_URL": "postgresql:///theirs", "REDIS_URL": "redis://mine", "HOME": "/"}

    words = operator_environment(environ, [note, tmp_path / "missing"])

    assert words == {"REDIS_URL": "redis://mine", "HOME": "/"}


def test_a_service_may_be_given_by_a_file_which_goes_before_the_variable(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("nats://from-file\n")
    words = {"NATS_URL_FILE": str(tmp_path / "secret"), "NATS_URL": "nats://x", "REDIS_URL": ""}

    assert external_urls(words) == {"NATS_URL": "nats://from-file"}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"Cannot read .*missing"):
        external_urls({"NATS_URL_FILE": str(tmp_path / "missing")})


def test_delays_double_up_to_half_a_minute_and_are_forgotten_after_a_minute_of_life() -> None:
    delays = [next_delay(None, lived=0)]
    for _ in range(7):
        delays.append(next_delay(delays[-1], lived=1))

    assert delays == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert next_delay(30, lived=60) == 0.5


def test_a_stale_pid_file_names_nobody_and_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "postmaster.pid"
    file.write_text("4242\n/srv/cp/postgres\n1700000000\n5432\n")

    clear_process_id(file)
    clear_process_id(tmp_path / "missing")

    assert file.read_text() == "2147483647\n/srv/cp/postgres\n1700000000\n5432\n"


def test_a_socket_folder_is_private_short_and_the_same_at_every_start(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 200)

    folder = socket_folder(deep)

    assert folder == socket_folder(deep)
    assert len(str(folder)) < 80
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.rmdir()


def test_a_socket_folder_that_others_may_enter_is_not_used(tmp_path: Path) -> None:
    usual = socket_folder(tmp_path)
    usual.chmod(0o755)

    another = socket_folder(tmp_path)

    assert another != usual
    assert stat.S_IMODE(another.stat().st_mode) == 0o700
    another.rmdir()
    usual.rmdir()


def test_a_private_file_is_private_from_its_first_moment_and_after_it_was_not(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("old")
    file.chmod(0o666)

    write_private(file, "new")

    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    with (
        hold_lock(tmp_path / "lock"),
        pytest.raises(CannotStart, match=rf"another `make up` \(process {os.getpid()}\)"),
        hold_lock(tmp_path / "lock"),
    ):
        pass
    with hold_lock(tmp_path / "lock"):
        pass


def test_a_data_folder_is_made_private_and_keeps_its_key(tmp_path: Path) -> None:
    with data_folder(tmp_path / "new") as folder:
        key = secret_key(folder)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "secret.key").stat().st_mode) == 0o600
    assert len(key) >= 50
    assert secret_key(folder) == key


def test_a_data_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)

    with pytest.raises(CannotStart, match="chmod go-w"), data_folder(tmp_path):
        pass


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(CannotStart, match=r"Cannot use .*file/data"),
        data_folder(tmp_path / "file" / "data"),
    ):
        pass


def test_a_folder_full_of_other_things_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    tmp_path.chmod(0o755)

    with data_folder(tmp_path):
        pass

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_reserved_port_is_given_to_nobody_but_can_be_served() -> None:
    port = ReservedPort()
    reuse = "import socket as s; l=s.create_server(('127.0.0.1', %d)); print('serves')"

    answer = subprocess.run(["python3", "-c", reuse % port.number], capture_output=True, check=False)

    assert answer.stdout == b"serves\n"
    port.release()


def test_the_greeting_has_commands_to_copy(tmp_path: Path) -> None:
    folder = tmp_path / "it is here"

    text = banner(folder, Options(folder, 8001, 8090, demo=True), "nats://u:secret@127.0.0.1:8023", 3.14159)

    assert "Ready in 3.1 s." in text
    assert "127.0.0.1:8090 " in text
    assert "nats://127.0.0.1:8023 " in text
    assert "secret" not in text
    assert f"export TOKEN=$(cat '{folder}/admin.token')" in text
    assert 'curl -s -H "Authorization: Bearer $TOKEN" "http://127.0.0.1:8001/api/v1/me"' in text


@dataclass
class FakeProcess:
    """Quacks like RunningProgram: dies when told, counts nothing."""

    started_at: float
    up: bool = True
    program: Any = field(default_factory=lambda: type("P", (), {"log": Path("x.log")}))
    process: Any = field(default_factory=lambda: type("P", (), {"returncode": -9}))

    def alive(self) -> bool:
        return self.up

    def kill(self) -> None:
        self.up = False


class FakeProbe(Probe):
    """Silent when the test says so, without asking anybody."""

    silent = False

    def start(self) -> None:
        """No thread."""

    def is_silent(self) -> bool:
        return self.silent

    def note_start(self) -> None:
        self.silent = False


class Scene:
    """A supervisor of one fake process, with a clock of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.messages: list[str] = []
        self.lives: list[FakeProcess] = []
        self.broken = False
        self.supervisor = Supervisor(self.messages.append, clock=lambda: self.now)
        self.supervisor.start("web", self.begin)  # type: ignore[arg-type]

    def begin(self) -> FakeProcess:
        if self.broken:
            raise CannotStart("no room")
        self.lives.append(FakeProcess(self.now))
        return self.lives[-1]

    def at(self, now: float) -> None:
        self.now = now
        self.supervisor.check()


def test_a_dead_process_is_started_again_after_its_delay_and_a_line_says_so() -> None:
    scene = Scene()
    scene.lives[0].up = False

    scene.at(1.0)
    scene.at(1.4)
    before = len(scene.lives)
    scene.at(1.5)

    assert (before, len(scene.lives)) == (1, 2)
    assert scene.messages == ["web exited with code -9. Restart in 0.5 s. Log: x.log"]


def test_a_process_that_does_not_answer_is_ended_once_and_each_time_with_more_patience() -> None:
    scene, probe = Scene(), FakeProbe("http://127.0.0.1:1/livez", seconds=60)
    scene.supervisor.probe("web", probe)
    for now in (1.0, 2.0):
        scene.at(now)
    assert scene.lives[0].up

    probe.silent = True
    scene.at(3.0)
    scene.at(3.1)
    assert (scene.lives[0].up, len(scene.lives)) == (False, 1)
    scene.at(3.5)

    assert len(scene.lives) == 2
    assert scene.messages == ["web did not respond for 60 s and was stopped. Restart in 0.5 s. Log: x.log"]
    assert probe.allowed() == 120


def test_a_process_that_cannot_be_started_again_is_tried_later() -> None:
    scene = Scene()
    scene.lives[0].up = False
    scene.at(1.0)
    scene.broken = True

    scene.at(1.5)
    scene.broken = False
    scene.at(2.5)

    assert scene.messages[1] == "web could not start (no room). Restart in 1 s. Log: x.log"
    assert len(scene.lives) == 2


def test_a_signal_ends_a_pause_and_a_second_one_ends_all_patience() -> None:
    supervisor = Supervisor(print)
    with supervisor.listening():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StopRequested):
            supervisor.pause(60)
        hurry = supervisor.is_hurried()
        os.kill(os.getpid(), signal.SIGINT)

        assert (hurry, supervisor.is_hurried()) == (False, True)


def test_volatile_files_are_private_start_empty_and_are_not_on_the_disk_of_the_data(tmp_path: Path) -> None:
    with volatile_folder(tmp_path) as folder:
        (folder / "metrics").mkdir()
        (folder / "metrics" / "counter_1.db").touch()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder.stat().st_dev != tmp_path.stat().st_dev
        # As after kill -9: the next start finds what the last one left.
        with volatile_folder(tmp_path) as again:
            assert (again, list(again.iterdir())) == (folder, [])
    assert not folder.exists()


def test_without_another_disk_volatile_files_are_beside_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controlplane.local.data_folder._is_elsewhere", lambda base, data: False)

    with volatile_folder(tmp_path) as folder:
        assert folder == tmp_path / "run" / "volatile"
