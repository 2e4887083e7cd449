"""`make up`: everything on one machine, from an empty folder to a running control plane."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from controlplane.embedded.leftovers import MARK, stop_leftovers
from controlplane.embedded.ports import is_free
from controlplane.embedded.postgres import remove_sockets
from controlplane.embedded.privileges import NoWayToRunPostgres
from controlplane.embedded.programs import Program
from controlplane.embedded.services import ALL, SETTING, DidNotStart, start_services, wait_until
from controlplane.embedded.supervisor import StopRequested, Supervisor

ROOT = Path(__file__).resolve().parents[2]


class CannotStart(Exception):
    """The operator must change something first; the message says what."""


@dataclass(frozen=True, slots=True)
class Options:
    data_dir: Path
    port: int
    demo: bool

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def launch(options: Options, say: Callable[[str], None]) -> int:
    """Run until told to stop; return the exit code."""
    try:
        with _locked(options.data_dir):
            _run(options, say)
    except StopRequested:
        say("Stopped.")
    except (CannotStart, DidNotStart, NoWayToRunPostgres) as error:
        say(f"Cannot start: {error}")
        return 1
    return 0


def _run(options: Options, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    if ended := stop_leftovers(options.data_dir):
        say(f"Ended {ended} processes that an earlier run had left behind.")
    if not is_free(options.port):
        raise CannotStart(f"Port {options.port} is taken. Choose another: make up PORT={options.port + 1}")
    supervisor = Supervisor(say)
    supervisor.listen()
    try:
        _start(options, supervisor, say)
        say(_ready(options, time.monotonic() - began))
        supervisor.watch()
    finally:
        supervisor.stop(last=ALL)
        remove_sockets(options.data_dir / "postgres")
        (options.data_dir / "run" / "environment").unlink(missing_ok=True)


def _start(options: Options, supervisor: Supervisor, say: Callable[[str], None]) -> None:
    wanted = [name for name in ALL if not os.environ.get(SETTING[name])]
    say(f"Starting {', '.join(wanted) or 'nothing of our own: all services are given'} ...")
    services = start_services(options.data_dir, durable=True, wanted=wanted, pause=supervisor.pause)
    for service in services.running.values():
        supervisor.adopt(service)
    environment = _environment(options, services.environment)
    say("Preparing the database ...")
    _prepare(options, environment, supervisor)
    say("Starting web, worker and beat ...")
    programs = _programs(options, environment)
    running = {program.name: supervisor.add(program) for program in programs}
    wait_until(lambda: _answers(f"{options.address}/readyz"), running["web"], pause=supervisor.pause)
    wait_until(
        lambda: _worker_answers(environment.get("REDIS_URL") or os.environ["REDIS_URL"]),
        running["worker"],
        pause=supervisor.pause,
    )


def _environment(options: Options, addresses: dict[str, str]) -> dict[str, str]:
    """What every process of ours is told; also written for `manage.py` in other windows."""
    run = options.data_dir / "run"
    run.mkdir(exist_ok=True, mode=0o700)
    given = {name: os.environ[name] for name in SETTING.values() if os.environ.get(name)}
    environment = {**addresses, **given, "SECRET_KEY": _secret_key(options.data_dir / "secret.key")}
    lines = "".join(f"{name}={value}\n" for name, value in environment.items())
    _write_private(run / "environment", lines)
    metrics = run / "metrics"
    shutil.rmtree(metrics, ignore_errors=True)
    metrics.mkdir(mode=0o700)
    return {
        **environment,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
        "DATA_DIR": str(options.data_dir),
        MARK: str(options.data_dir),
        "PYTHONPATH": str(ROOT),
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
    }


def _prepare(options: Options, environment: dict[str, str], supervisor: Supervisor) -> None:
    command = [
        sys.executable,
        str(ROOT / "manage.py"),
        "prepare",
        "--data-dir",
        str(options.data_dir),
    ]
    # Without these limits a long migration on a big database could not run.
    limits = {"DATABASE_STATEMENT_TIMEOUT_MS": "0"}
    process = subprocess.Popen(
        command + (["--demo"] if options.demo else []),
        env={**os.environ, **environment, **limits},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    )
    try:
        while process.poll() is None:
            supervisor.pause(0.03)
    except StopRequested:
        process.kill()
        raise
    finally:
        said = process.communicate()[0]
    if process.returncode:
        raise CannotStart(f"it could not be made ready:\n{said.strip()}")


def _programs(options: Options, environment: dict[str, str]) -> list[Program]:
    celery = (sys.executable, "-m", "celery", "--workdir", str(ROOT), "-A", "controlplane")
    schedule = str(options.data_dir / "run" / "beat-schedule")
    commands: dict[str, tuple[str, ...]] = {
        "web": (
            sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1",
            "--port", str(options.port), "--workers", "2", "--blocking-threads", "4",
            "--backpressure", "64", "--workers-kill-timeout", "3", "--no-ws",
            "--respawn-failed-workers", "--log-level", "warning", "controlplane.wsgi:application",
        ),
        "worker": (
            *celery, "worker", "--without-gossip", "--without-mingle", "--concurrency", "2",
            "--loglevel", "WARNING", "--hostname", f"up-{options.port}@%h",
        ),
        "beat": (*celery, "beat", "--schedule", schedule, "--pidfile", "", "--loglevel", "WARNING"),
    }  # fmt: skip
    if options.demo:
        commands["demo-agents"] = (
            sys.executable, str(ROOT / "manage.py"), "demo_agents", "--url", options.address
        )  # fmt: skip
    logs = options.data_dir / "logs"
    return [Program(name, command, logs / f"{name}.log", environment) for name, command in commands.items()]


def _ready(options: Options, seconds: float) -> str:
    folder = options.data_dir
    shown = Path(os.path.relpath(folder)) if folder.is_relative_to(Path.cwd()) else folder
    ask = f'curl -s -H "Authorization: Bearer $TOKEN" "{options.address}/api/v1'
    return f"""
Ready in {seconds:.1f} s.

  Console   {options.address}/    (API: {options.address}/api/v1/docs)
  Log in    admin, with the password in {shown}/admin.password
  Token     {shown}/admin.token
  Logs      {shown}/logs/

Three commands to try:

  export TOKEN=$(cat {shown}/admin.token)
  {ask}/me"
  {ask}/overrides/effective?project=flytesnacks&domain=development&workflow=MyExampleWorkflow"

Ctrl-C stops everything."""


def _secret_key(path: Path) -> str:
    if not path.exists():
        _write_private(path, secrets.token_urlsafe(50))
    return path.read_text().strip()


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


@contextmanager
def _locked(folder: Path) -> Iterator[TextIO]:
    """Hold the data folder for this process alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CannotStart(
                f"{folder} is in use by another `make up`. Choose another: make up DATA_DIR=..."
            ) from error
        yield file


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):  # noqa: S310  (our own address)
            return True
    except (urllib.error.URLError, OSError):
        return False


def _worker_answers(broker: str) -> bool:
    from celery import Celery

    app = Celery(broker=broker, set_as_current=False)
    try:
        return bool(app.control.ping(timeout=0.3, limit=1))
    except Exception:  # the broker's client raises its own kinds; all mean "not yet"
        return False
    finally:
        app.close()
