"""Programs that `make up` runs, as child processes in their own sessions, and the ports that they use.

Each has its own session, so that Ctrl-C in the terminal reaches only the supervisor.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from controlplane.database.roles import WEB, WORKER
from controlplane.extras import is_installed
from controlplane.local.data_folder import private_folder

_PR_SET_PDEATHSIG = 1
_LOG_BYTES = 20_000_000
_TAIL_BYTES = 64_000
ROOT = Path(__file__).resolve().parents[2]
_CELERY = (sys.executable, "-m", "celery", "--workdir", str(ROOT), "-A", "controlplane")
# There is only this worker, so that gossip is not needed.
_WORKER_OPTIONS = ("--without-gossip", "--without-mingle", "--concurrency", "2", "--loglevel", "WARNING")
_WEB = (
    *(sys.executable, "-m", "controlplane.serving", "--workers", "2"),
    # Shorter than the time after which the supervisor kills it.
    *("--stop-seconds", "3"),
)
# `prepare` has run the system checks. They import all routes, 1.6 s of processor time for each program.
_CHECKED = {"CELERY_SKIP_CHECKS": "1"}
# All other programs serve requests.
_ROLE = {"worker": WORKER, "beat": WORKER, "relay": WORKER, "plugin-installer": WORKER}
_MANAGE = (sys.executable, str(ROOT / "manage.py"))
# NAME_FILE would have precedence over NAME, and has already been read.
_WITHHELD = ("DATABASE_URL_FILE", "REDIS_URL_FILE", "NATS_URL_FILE", "SECRET_KEY_FILE")


def free_port() -> int:
    """Return a free port. Another process may take it before the caller uses it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def is_listening(port: int) -> bool:
    """True if a process listens on the port."""
    with socket.socket() as caller:
        caller.settimeout(1)
        return caller.connect_ex(("127.0.0.1", port)) == 0


class ReservedPort:
    """A port that stays reserved while its server restarts.

    On Linux, a bound socket that does not listen prevents the kernel from assigning its port, while a server
    that sets SO_REUSEADDR, such as Valkey, NATS and our web server, can still listen.
    """

    def __init__(self, number: int = 0) -> None:
        """Reserve the port, or any free one for 0. Raises OSError if that is not possible."""
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", number))
        except OSError:
            self._socket.close()
            raise
        self.number = int(self._socket.getsockname()[1])

    def release(self) -> None:
        self._socket.close()


@dataclass(frozen=True, slots=True)
class Program:
    """How to start a process.

    stop_signal: for a graceful stop. withheld: prefixes of environment variables that it must not inherit.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM
    withheld: tuple[str, ...] = ()
    directory: Path | None = None


@dataclass(slots=True)
class RunningProgram:
    program: Program
    process: subprocess.Popen[bytes]
    started_at: float

    @property
    def name(self) -> str:
        return self.program.name

    def alive(self) -> bool:
        """False once the process has ended. Then its own children are killed."""
        if self.process.returncode is not None:
            return False
        with contextlib.suppress(ChildProcessError):  # the kernel reaps if SIGCHLD is ignored
            if os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                return True
        # Before it is reaped: until then its process id and group cannot be reused.
        self._kill_group()
        self.process.wait()
        return False

    def ask_to_stop(self) -> None:
        if self.alive():
            self.process.send_signal(self.program.stop_signal)

    def kill(self) -> None:
        if self.alive():
            self._kill_group()
            self.process.wait()

    def _kill_group(self) -> None:
        # Between fork and setsid, the group does not exist yet.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


def start(program: Program) -> RunningProgram:
    """Start a program. The kernel stops it when the calling thread ends."""
    program.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _rotate_log(program.log)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(program.withheld)}
    with program.log.open("ab") as log:
        process = subprocess.Popen(
            program.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**environment, **program.environment},
            cwd=program.directory,
            umask=0o077,
            start_new_session=True,
            preexec_fn=partial(_end_with_parent, program.stop_signal, os.getpid()),  # noqa: PLW1509
        )
    return RunningProgram(program, process, time.monotonic())


def run_to_end(program: Program, *, pause: Callable[[float], None]) -> int:
    """Run a program and return its exit code. If `pause` raises, the program is killed."""
    running = start(program)
    try:
        while running.alive():
            pause(0.02)
    finally:
        running.kill()
    return int(running.process.returncode)


def stop_all(
    running: Iterable[RunningProgram], *, patience: float, hurry: Callable[[], bool] = lambda: False
) -> None:
    """Stop all programs: gracefully for `patience` seconds or until `hurry`, then by killing them."""
    programs = list(running)
    for program in programs:
        program.ask_to_stop()
    deadline = time.monotonic() + patience
    while any([program.alive() for program in programs]):
        if time.monotonic() > deadline or hurry():
            break
        time.sleep(0.02)
    for program in programs:
        program.kill()


def tail(path: Path, lines: int) -> str:
    """Return the last lines of a log."""
    if not path.exists():
        return ""
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])


def _rotate_log(log: Path) -> None:
    """Rotate a large log to one backup, so that logs cannot fill the disk."""
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))


_libc = ctypes.CDLL(None, use_errno=True)


def _end_with_parent(number: signal.Signals, parent: int) -> None:
    """Have Linux signal this process when the supervisor dies, even after kill -9."""
    if hasattr(_libc, "prctl"):
        _libc.prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def bytecode_environment(folder: Path) -> dict[str, str]:
    """Return variables to store bytecode in `folder` if not beside the source: it halves the start time."""
    if not sys.dont_write_bytecode:
        return {}
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "run" / "bytecode")}


@dataclass(frozen=True, slots=True)
class MetricsPlaces:
    """folder: has one folder for each program, whose processes make one group. ports: by name, of some."""

    folder: Path
    ports: Mapping[str, int]

    def environment(self, program: str) -> dict[str, str]:
        """Return the variables of a program, and make its folder."""
        folder = private_folder(private_folder(self.folder) / program)
        return {
            "PROMETHEUS_MULTIPROC_DIR": str(folder),
            "METRICS_ADDRESS": "127.0.0.1",
            "METRICS_PORT": str(self.ports.get(program, 0)),
        }


def prepare_program(folder: Path, environment: Mapping[str, str], *, demo_port: int) -> Program:
    """demo_port: where the demo would receive its webhooks; 0: without the demo."""
    command = (*_MANAGE, "prepare", "--data-dir", str(folder), "--demo", str(demo_port))
    # The statement timeout of web requests is too short for the migration of a large database.
    without_timeout = {**environment, "DATABASE_STATEMENT_TIMEOUT_MS": "0"}
    return _program("prepare", command, folder, without_timeout)


def long_running_programs(
    folder: Path,
    environment: Mapping[str, str],
    databases: Mapping[str, str],
    *,
    schedule: Path,
    port: int,
    worker: str,
    has_demo: bool,
    metrics: MetricsPlaces,
) -> Iterable[Program]:
    """Return the long-running programs. databases: URLs by role. schedule: beat's file. worker: node name."""
    commands: dict[str, tuple[str, ...]] = {
        "web": (*_WEB, "--port", str(port)),
        "worker": (*_CELERY, "worker", *_WORKER_OPTIONS, "--hostname", worker),
        "beat": (*_CELERY, "beat", "--schedule", str(schedule), "--pidfile", "", "--loglevel", "WARNING"),
        "relay": (*_MANAGE, "relay"),
        "plugin-installer": (*_MANAGE, "plugin_installer", "--node", "local"),
    }
    if is_installed("flyte"):
        commands["flyte-grpc"] = (*_MANAGE, "flyte_grpc", "--skip-checks")
    if has_demo:
        address = ("--url", f"http://127.0.0.1:{port}", "--data-dir", str(folder))
        commands["demo"] = (*_MANAGE, "demo", *address)
    return [
        _program(
            name,
            command,
            folder,
            {
                **environment,
                **_CHECKED,
                **metrics.environment(name),
                "DATABASE_URL": databases[_ROLE.get(name, WEB)],
            },
        )
        for name, command in commands.items()
    ]


def _program(name: str, command: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> Program:
    log = folder / "logs" / f"{name}.log"
    return Program(name, command, log, environment, withheld=_WITHHELD, directory=ROOT)
