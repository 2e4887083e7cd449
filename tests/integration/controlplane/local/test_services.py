"""Real Postgres, Valkey and NATS: how they start, die, come back and keep what they were given."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import nats
import psycopg
import pytest

from controlplane.local import CannotStart, Services, privileges, start_services
from controlplane.local.leftover_processes import stop_leftovers
from controlplane.local.nats import NatsOptions
from controlplane.local.postgres import Postgres
from controlplane.local.privileges import UserSwitch
from controlplane.local.programs import ReservedPort
from controlplane.messaging.logins.nkeys import AccountKey, dcm_password
from controlplane.messaging.nats_questions import server_answers
from tests.support.paths import ROOT
from tests.support.waiting import until


@pytest.fixture(scope="module")
def durable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with start_services(tmp_path_factory.mktemp("durable"), durable=True) as services:
        yield services


def show(services: Services, name: str) -> str:
    with psycopg.connect(services.environment["DATABASE_URL"]) as connection:
        row = connection.execute(f"SHOW {name}").fetchone()
    return str(row[0]) if row else ""


def kill_all(services: Services) -> None:
    for running in services.running.values():
        os.kill(running.process.pid, signal.SIGKILL)
    for running in services.running.values():
        running.process.wait()


async def publish(url: str, text: bytes) -> None:
    client = await nats.connect(url)
    stream = client.jetstream()
    await stream.add_stream(name="KEPT", subjects=["kept"])
    await stream.publish("kept", text)
    await client.close()


async def read_back(url: str) -> bytes:
    client = await nats.connect(url)
    message = await client.jetstream().get_last_msg("KEPT", "kept")
    await client.close()
    return message.data or b""


def test_what_must_be_durable_is_durable(durable: Services) -> None:
    assert [show(durable, name) for name in ("fsync", "synchronous_commit", "full_page_writes")] == ["on"] * 3


def test_throw_away_services_do_without_durability(services: Services) -> None:
    assert [show(services, name) for name in ("fsync", "synchronous_commit")] == ["off"] * 2


def test_postgres_can_be_reached_by_its_owner_only(durable: Services) -> None:
    postgres = durable.services["postgres"]
    assert isinstance(postgres, Postgres)

    assert show(durable, "listen_addresses") == ""
    assert stat.S_IMODE(postgres.sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE(postgres.data.stat().st_mode) == 0o700


def test_valkey_and_nats_want_a_password(durable: Services) -> None:
    redis_port = urlsplit(durable.environment["REDIS_URL"]).port
    nats_port = urlsplit(durable.environment["NATS_URL"]).port

    with socket.create_connection(("127.0.0.1", redis_port), timeout=2) as anybody:
        anybody.sendall(b"PING\r\n")
        answer = anybody.recv(100)

    assert answer.startswith(b"-NOAUTH")
    assert not server_answers(f"nats://127.0.0.1:{nats_port}", timeout=0.5)


@pytest.mark.parametrize(("name", "setting"), [("valkey", "REDIS_URL"), ("nats", "NATS_URL")])
def test_a_password_is_in_no_command_line_and_in_no_readable_file(
    durable: Services, name: str, setting: str
) -> None:
    password = (urlsplit(durable.environment[setting]).password or "").encode()
    running = durable.running[name]

    assert password not in Path(f"/proc/{running.process.pid}/cmdline").read_bytes()
    folder = running.program.directory
    assert folder is not None
    holders = [file for file in folder.glob("server.*") if password in file.read_bytes()]
    assert [stat.S_IMODE(file.stat().st_mode) for file in holders] == [0o600]


@pytest.mark.parametrize("name", ["postgres", "valkey", "nats"])
def test_a_service_that_was_killed_comes_back_at_the_same_address(durable: Services, name: str) -> None:
    before = durable.environment
    os.kill(durable.running[name].process.pid, signal.SIGKILL)
    until(lambda: not durable.running[name].alive())

    dead = durable.dead()
    durable.start(name)
    durable.wait_until_ready()

    assert dead == [name]
    assert durable.environment == before
    assert durable.dead() == []


def test_what_was_written_survives_kill_9_of_all_three(tmp_path: Path) -> None:
    with start_services(tmp_path, durable=True) as first:
        with psycopg.connect(first.environment["DATABASE_URL"]) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        asyncio.run(publish(first.environment["NATS_URL"], b"kept"))
        kill_all(first)

    with start_services(tmp_path, durable=True) as second:
        with psycopg.connect(second.environment["DATABASE_URL"]) as connection:
            row = connection.execute("SELECT answer FROM kept").fetchone()
        message = asyncio.run(read_back(second.environment["NATS_URL"]))

    assert row == (42,)
    assert message == b"kept"


def test_nothing_is_left_behind_by_a_supervisor_that_was_killed(tmp_path: Path) -> None:
    with start_supervisor(tmp_path) as supervisor:
        pids = [int(word) for word in supervisor.stdout.readline().split()]  # type: ignore[union-attr]
        supervisor.kill()

    until(lambda: not any(runs(pid) for pid in pids))

    assert len(pids) == 3
    assert [pid for pid in pids if runs(pid)] == []
    with start_services(tmp_path, durable=False) as second:
        assert second.dead() == []


def start_supervisor(folder: Path) -> subprocess.Popen[str]:
    script = (
        "import sys, time; from pathlib import Path; from controlplane.local import start_services;"
        "s = start_services(Path(sys.argv[1]), durable=False);"
        "print(*[r.process.pid for r in s.running.values()], flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def start_orphans(folder: Path) -> list[subprocess.Popen[bytes]]:
    """As they would be where the kernel does not tell children of their parent's death."""
    with start_services(folder, durable=False) as services:
        programs = [running.program for running in services.running.values()]
    (folder / "s").mkdir()
    orphans = []
    for program in programs:
        command = [re.sub("(?<=socket_directories=).*", f"{folder}/s", word) for word in program.command]
        with program.log.open("ab") as log:
            orphans.append(subprocess.Popen(command, cwd=program.directory, stdout=log, stderr=log))
    return orphans


def test_orphans_that_still_hold_the_folder_are_stopped_in_good_order(tmp_path: Path) -> None:
    orphans = start_orphans(tmp_path)
    time.sleep(0.5)

    with start_services(tmp_path, durable=False) as second:
        left = [orphan.pid for orphan in orphans if runs(orphan.pid)]
        fsync = show(second, "fsync")

    assert left == []
    assert min(orphan.wait() for orphan in orphans) >= 0, "one had to be killed"
    assert fsync == "off"


def test_stopping_orphans_leaves_neighbours_alone(tmp_path: Path, services: Services) -> None:
    assert stop_leftovers(tmp_path) == 0
    assert services.dead() == []


def test_a_stale_pid_file_with_the_number_of_a_living_process_does_no_harm(tmp_path: Path) -> None:
    with start_services(tmp_path, durable=False, names=["postgres"]) as first:
        kill_all(first)
    pid_file = tmp_path / "postgres" / "postmaster.pid"
    pid_file.write_text(
        pid_file.read_text().replace(pid_file.read_text().split("\n")[0], str(os.getpid()), 1)
    )

    with start_services(tmp_path, durable=False, names=["postgres"]) as second:
        assert show(second, "port") == "5432"


def test_one_folder_is_not_served_twice(tmp_path: Path) -> None:
    with (
        start_services(tmp_path, durable=False, names=["valkey"]) as first,
        pytest.raises(CannotStart, match="in use by another"),
    ):
        start_services(tmp_path, durable=False, names=["valkey"])
    assert first.environment.keys() == {"REDIS_URL"}


def test_an_interrupted_first_start_leaves_nothing_half_made(tmp_path: Path) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_services(tmp_path, durable=False, pause=interrupt)

    assert not (tmp_path / "postgres").exists()
    with start_services(tmp_path, durable=False, names=["postgres"]) as second:
        assert second.dead() == []


def test_the_operators_own_postgres_variables_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGPORT": "1", "PGDATA": "/nowhere", "LC_ALL": "xx_XX", "PGTZ": "Mars"}.items():
        monkeypatch.setenv(name, value)

    with start_services(tmp_path, durable=False, names=["postgres"]) as services:
        assert show(services, "server_encoding") == "UTF8"


def test_a_service_that_cannot_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "nats").mkdir()
    (tmp_path / "nats" / "jetstream").write_text("a file where a folder should be")

    with pytest.raises(CannotStart, match=r"(?s)nats exited with code 1\..*logs/nats.log:.*not a directory"):
        start_services(tmp_path, durable=False, names=["nats"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to disguise itself")
@pytest.mark.parametrize("way", ["unshare", "setpriv"])
def test_root_can_run_postgres_below_a_folder_that_is_closed_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    ways = [user_switch for user_switch in privileges._user_switches() if user_switch.prefix[0] == way]
    monkeypatch.setattr(privileges, "_user_switches", lambda: iter(ways))
    tmp_path.chmod(0o700)

    with start_services(tmp_path / "data", durable=False, names=["postgres"]) as services:
        assert show(services, "fsync") == "off"
        assert services.running["postgres"].program.command[0] == way


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to disguise itself")
def test_root_is_told_what_to_do_when_no_way_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privileges, "_user_switches", lambda: iter([UserSwitch(("false",), 0)]))

    with pytest.raises(CannotStart, match="Start as an unprivileged user, or set DATABASE_URL"):
        start_services(tmp_path, durable=False, names=["postgres"])


def test_nats_keeps_its_port_its_key_and_the_password_of_dcm(tmp_path: Path) -> None:
    def start_nats(port: ReservedPort) -> tuple[str, str, str]:
        options = NatsOptions(port, dcm_agents=True)
        with start_services(tmp_path / "data", durable=False, names=["nats"], nats=options) as services:
            nats = services.nats
            assert nats is not None
            assert server_answers(nats.dcm_url, timeout=3)
            return nats.dcm_url, nats.url.rpartition("@")[2], services.environment["NATS_ISSUER_SEED"]

    port = ReservedPort()
    first = start_nats(port)
    assert start_nats(ReservedPort(port.number)) == first
    assert stat.S_IMODE((tmp_path / "data" / "nats.seed").stat().st_mode) == 0o600


def test_without_dcm_agents_there_is_no_shared_user(tmp_path: Path) -> None:
    with start_services(tmp_path / "data", durable=False, names=["nats"]) as services:
        nats = services.nats
        assert nats is not None
        shared = dcm_password(AccountKey(services.environment["NATS_ISSUER_SEED"]))
        assert not server_answers(f"nats://dcm:{shared}@127.0.0.1:{nats.port.number}", timeout=5)
        assert nats.dcm_url == ""
