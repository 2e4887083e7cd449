"""`make up`: everything on one machine, from an empty folder to a running control plane."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from controlplane.database.roles import MIGRATOR, ROLES
from controlplane.local import external_services, processes, readiness
from controlplane.local.banner import greeting
from controlplane.local.data_folder import data_folder, secret_key
from controlplane.local.errors import CannotStart, StopRequested
from controlplane.local.health_probe import Probe
from controlplane.local.leftover_processes import MARK, stop_orphans
from controlplane.local.ports import ReservedPort, is_served
from controlplane.local.private_files import private_folder
from controlplane.local.programs import run_to_end, start, tail
from controlplane.local.saved_environment import environment_file, write_environment
from controlplane.local.services import ALL, SETTING, Services, start_services
from controlplane.local.supervisor import Supervisor
from controlplane.local.volatile_folder import volatile_folder

# A connection that has just ended can hold a port without anybody listening there.
_RELEASE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Options:
    data_dir: Path
    port: int
    grpc_port: int
    demo: bool
    # Of silence, after which a web worker is ended; twice as many for the whole web process. 0: never.
    hang_seconds: int = 30


def launch(options: Options, say: Callable[[str], None]) -> int:
    """Run until told to stop; return the exit code."""
    supervisor = Supervisor(say)
    try:
        with supervisor.listening(), data_folder(options.data_dir) as folder:
            _Launch(options, folder, supervisor, say).run()
    except StopRequested:
        say("Stopped.")
    except (CannotStart, OSError) as error:  # such as a full disk: its own words are clear
        say(f"Cannot start: {error}")
        return 1
    return 0


class _Launch:
    """The steps, in order. What a step leaves behind is undone in reverse, whatever happens."""

    def __init__(
        self, options: Options, folder: Path, supervisor: Supervisor, say: Callable[[str], None]
    ) -> None:
        self.options = options
        self.folder = folder
        self.supervisor = supervisor
        self.say = say
        self.began = time.monotonic()

    def run(self) -> None:
        with ExitStack() as undo:
            if stop_orphans(self.folder, pause=self.supervisor.pause):
                self.say("Stopped what an earlier run, killed, had left.")
            for name, port in (("PORT", self.options.port), ("FLYTE_GRPC_PORT", self.options.grpc_port)):
                undo.callback(_reserve(name, port, pause=self.supervisor.pause).release)
            given_urls = self._given()
            services = self._start_services(given_urls, undo)
            databases = services.database_urls() or dict.fromkeys(ROLES, given_urls["DATABASE_URL"])
            urls = {**services.environment, **given_urls, "DATABASE_URL": databases[MIGRATOR]}
            volatile = undo.enter_context(volatile_folder(self.folder))
            environment = self._environment(urls, volatile, undo)
            self._prepare(environment)
            undo.callback(lambda: self.supervisor.stop(self.supervisor.names() - set(ALL)))
            self._start_processes(environment, databases, schedule=volatile / "beat-schedule")
            seconds = time.monotonic() - self.began
            self.say(greeting(self.folder, self.options, seconds))
            self.supervisor.watch()

    def _given(self) -> dict[str, str]:
        notes = [environment_file(Path(os.environ.get("DATA_DIR", ".data"))), environment_file(self.folder)]
        urls = external_services.given_services(external_services.operators_words(os.environ, notes))
        for name in urls:
            self.say(f"Using the service that {name} names.")
        external_services.check_reachable(urls)
        return urls

    def _start_services(self, given_urls: Mapping[str, str], undo: ExitStack) -> Services:
        wanted = [name for name in ALL if SETTING[name] not in given_urls]
        self.say(f"Starting {', '.join(wanted) or 'no service of our own'} ...")
        services = start_services(self.folder, durable=True, wanted=wanted, pause=self.supervisor.pause)
        undo.callback(lambda: services.stop(hurry=self.supervisor.in_a_hurry))
        for name, running in services.running.items():
            self.supervisor.adopt(name, running, again=partial(services.start, name))
        return services

    def _environment(self, urls: Mapping[str, str], volatile: Path, undo: ExitStack) -> dict[str, str]:
        """What every process of ours is told; partly noted for `manage.py` in other windows."""
        told = {**urls, "SECRET_KEY": secret_key(self.folder), "PORT": str(self.options.port)}
        note = write_environment(self.folder, told)
        undo.callback(lambda: note.unlink(missing_ok=True))
        return {
            **told,
            "FLYTE_GRPC_PORT": str(self.options.grpc_port),
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
            "DATA_DIR": str(self.folder),
            "PYTHONPATH": str(processes.ROOT),
            "PROMETHEUS_MULTIPROC_DIR": str(private_folder(volatile / "metrics")),
            MARK: str(self.folder),
            **processes.bytecode(self.folder),
        }

    def _prepare(self, environment: Mapping[str, str]) -> None:
        self.say("Preparing the database ...")
        program = processes.prepare(self.folder, environment, demo=self.options.demo)
        program.log.unlink(missing_ok=True)
        if run_to_end(program, pause=self.supervisor.pause):
            raise CannotStart(f"the database could not be prepared. {program.log}:\n{tail(program.log, 20)}")

    def _start_processes(
        self, environment: Mapping[str, str], databases: Mapping[str, str], *, schedule: Path
    ) -> None:
        port, worker = self.options.port, f"up-{self.options.port}@{os.getpid()}"
        programs = processes.long_running(
            self.folder,
            environment,
            databases,
            schedule=schedule,
            port=port,
            worker=worker,
            demo=self.options.demo,
        )
        self.say(f"Starting {', '.join(program.name for program in programs)} ...")
        running = {one.name: self.supervisor.start(one.name, partial(start, one)) for one in programs}
        checks: dict[str, Callable[[], bool]] = {
            "web": lambda: readiness.web_answers(f"http://127.0.0.1:{port}/readyz"),
            "worker": lambda: readiness.worker_answers(environment["REDIS_URL"], worker),
            "beat": running["beat"].alive,
            "flyte-grpc": lambda: is_served(self.options.grpc_port),
        }
        for name in checks.keys() & running.keys():
            readiness.wait_until(checks[name], running[name], pause=self.supervisor.pause)
        if self.options.hang_seconds:
            web = Probe(f"http://127.0.0.1:{port}/livez", seconds=2 * self.options.hang_seconds)
            self.supervisor.probe("web", web)


def _reserve(name: str, port: int, *, pause: Callable[[float], None]) -> ReservedPort:
    """Keep a port of ours from now on: nobody can take it while the rest starts. Raises CannotStart."""
    deadline = time.monotonic() + _RELEASE_SECONDS
    while True:
        try:
            return ReservedPort(port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CannotStart(
                    f"Port {port} cannot be used: {error.strerror}. Choose another: make up {name}=8100"
                ) from error
        if is_served(port) or time.monotonic() > deadline:
            raise CannotStart(f"Port {port} is taken. Choose another: make up {name}={port + 1}")
        pause(0.1)
