"""`manage.py up`: what it says, what it hides, and how it takes blows. Its life is told in test_up.py."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.local.data_folder import read_environment
from controlplane.local.programs import free_port
from controlplane.local.services import worker_answers
from tests.support.launcher import ROOT, Up
from tests.support.waiting import until

READY = "Ctrl-C stops everything."


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    running = Up(tmp_path_factory.mktemp("up") / "data")
    try:
        running.wait_for(READY)
        yield running
    finally:
        running.stop(signal.SIGTERM)


def environment_of(up: Up) -> dict[str, str]:
    return read_environment(up.data_dir / "run" / "environment")


def leader(up: Up, words: str) -> int:
    """The one process with these words on its command line that leads a session."""
    (child,) = [pid for pid, line in up.children().items() if words in line and os.getsid(pid) == pid]
    return child


def healthy(up: Up) -> bool:
    """Every dependency answers the web server, and the worker takes orders."""
    try:
        with urllib.request.urlopen(f"{up.url}/readyz?verbose", timeout=5) as answer:
            checks = json.load(answer)["checks"]
    except OSError:
        return False
    worker = f"up-{up.port}@{up.process.pid}"
    return set(checks.values()) == {"ok"} and worker_answers(environment_of(up)["REDIS_URL"], worker)


def test_the_three_commands_that_it_prints_work(up: Up) -> None:
    commands = re.findall(r"^  ((?:export|curl) .*)$", up.output, re.MULTILINE)
    script = "\n".join(f"{command}; echo" for command in commands)

    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)

    _, me, effective = done.stdout.splitlines()
    assert json.loads(me)["name"] == "admin"
    assert "attributes" in effective
    assert "status" not in json.loads(effective)


@pytest.mark.parametrize("name", ["", "run", "logs", "postgres", "valkey", "nats"])
def test_its_folders_are_closed_to_others(up: Up, name: str) -> None:
    assert stat.S_IMODE((up.data_dir / name).stat().st_mode) == 0o700


def test_its_figures_are_closed_to_others_and_not_on_the_disk_of_the_data(up: Up) -> None:
    metrics = Path(up.environment_of("-A controlplane worker")["PROMETHEUS_MULTIPROC_DIR"])

    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (metrics, metrics.parent)} == {0o700}
    assert metrics.stat().st_dev != up.data_dir.stat().st_dev
    assert list(metrics.glob("*.db"))


def test_no_secret_is_in_a_command_line(up: Up) -> None:
    environment = environment_of(up)
    secrets = [
        environment["SECRET_KEY"],
        *re.findall(r":(\w{20,})@", environment["REDIS_URL"] + environment["NATS_URL"]),
    ]

    lines = " ".join(up.children().values())

    assert len(secrets) == 3
    assert "valkey-server" in lines
    assert [secret for secret in secrets if secret in lines] == []


def test_a_signal_of_the_terminal_reaches_only_the_supervisor(up: Up) -> None:
    ours = os.getpgid(up.process.pid)

    assert [line for pid, line in up.children().items() if os.getpgid(pid) == ours] == []


def test_manage_py_in_another_window_meets_the_same_services(up: Up) -> None:
    names = ("DATABASE_URL", "REDIS_URL", "NATS_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "manage.py", "showmigrations", "access"]

    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**clean, "DATA_DIR": str(up.data_dir)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "[X] 0001_initial" in done.stdout


def test_a_start_on_another_folder_does_not_borrow_the_services_of_a_running_one(
    up: Up, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # settings/dev.py has read the first one's notes when the second looks at its environment.
    second = Up(tmp_path_factory.mktemp("second") / "data", "--no-demo", DATA_DIR=str(up.data_dir))
    second.wait_for("Starting postgres, valkey, nats ...")

    second.stop(signal.SIGTERM)

    assert "Using the external service" not in second.output


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("web", "controlplane.asgi"),
        ("worker", "-A controlplane worker"),
        ("beat", "-A controlplane beat"),
        ("relay", "manage.py relay"),
        ("postgres", "/postgres -D"),
        ("valkey", "/valkey-server"),
        ("nats", "/nats-server"),
    ],
)
def test_whoever_is_killed_comes_back_and_everybody_finds_it_again(up: Up, name: str, words: str) -> None:
    before = environment_of(up)
    os.kill(leader(up, words), signal.SIGKILL)

    up.wait_for(f"{name} exited with code -9. Restart in ", 10)

    assert f"Log: {up.data_dir}/logs/{name}.log" in up.output
    until(lambda: any(words in line for line in up.children().values()), 10)
    until(lambda: healthy(up), 25)
    assert environment_of(up) == before


def test_the_notes_of_a_killed_start_do_not_mislead_the_next(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("killed") / "data"
    first = Up(folder, "--no-demo")
    first.wait_for("Starting web")
    first.stop(signal.SIGKILL)

    second = Up(folder, "--no-demo", DATA_DIR=str(folder), port=first.port)
    second.wait_for(READY)

    assert "Using the external service" not in second.output
    # A request that is never finished would keep the web server polite for a while.
    with socket.create_connection(("127.0.0.1", second.port)) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\n")
        second.process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert second.stop(signal.SIGINT) < 2, "a second Ctrl-C ends all patience"
    assert second.process.returncode == 0
    assert second.children() == {}


@pytest.mark.parametrize("moment", ["Starting postgres", "Starting web"])
def test_a_stop_at_any_moment_of_a_start_leaves_nobody_behind(
    tmp_path_factory: pytest.TempPathFactory, moment: str
) -> None:
    starting = Up(tmp_path_factory.mktemp("stopped") / "data", "--no-demo")
    starting.wait_for(moment)
    time.sleep(0.2)

    assert starting.stop(signal.SIGTERM) < 10

    assert starting.process.returncode == 0
    assert starting.output.endswith("Stopped.\n")
    assert starting.children() == {}


def test_a_queue_of_your_own_that_does_not_answer_is_named_before_anything_starts(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    url = f"redis://:secret@127.0.0.1:{free_port()}/0"
    starting = Up(tmp_path_factory.mktemp("given") / "data", REDIS_URL=url)

    assert starting.process.wait(20) == 1
    assert "REDIS_URL is set, but the service at redis://:***@127.0.0.1" in starting.output
    assert "unset REDIS_URL to use the built-in one" in starting.output
    assert not (starting.data_dir / "postgres").exists()


def test_a_port_of_nats_that_is_taken_is_a_clear_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        folder = tmp_path_factory.mktemp("taken") / "data"
        starting = Up(folder, "--no-demo", "--nats-port", str(port))
        starting.process.wait(30)
    assert (
        f"Port {port} is already in use. Choose another port: make up NATS_PORT={port + 1}" in starting.output
    )


def test_a_port_that_is_no_port_is_a_clear_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    starting = Up(tmp_path_factory.mktemp("port") / "data", port=70000)

    assert starting.process.wait(20) != 0
    assert "'70000' is not a port" in starting.output
    assert not starting.data_dir.exists()
