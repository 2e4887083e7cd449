"""`make up`: start all services on one machine, from an empty folder to a running control plane."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit

from controlplane.database.roles import MIGRATOR, ROLES, WORKER
from controlplane.extras import is_installed
from controlplane.local import external_services, programs
from controlplane.local.data_folder import (
    data_folder,
    environment_file,
    secret_key,
    secrets_key_file,
    volatile_folder,
    write_environment,
    write_private,
)
from controlplane.local.demo_receiver import receiver_environment, receiver_port
from controlplane.local.demo_record import read_record
from controlplane.local.errors import CannotStart, StopRequested
from controlplane.local.leftover_processes import MARK, stop_leftovers
from controlplane.local.metrics_ports import reserve_ports, write_targets
from controlplane.local.nats import NatsOptions
from controlplane.local.programs import ReservedPort, is_listening, run_to_end, start, tail
from controlplane.local.services import (
    ALL,
    SETTING,
    Services,
    start_services,
    wait_until,
    web_answers,
    worker_answers,
)
from controlplane.local.supervisor import Probe, Supervisor
from controlplane.members.presence import present
from controlplane.members.statements import cursor_at

# A recently closed connection can occupy a port without a listener.
_RELEASE_SECONDS = 5.0
_DCM_FILE = "nats-dcm.url"


_TEXT = """
Ready in {seconds:.1f} s.

  Console   {address}/    (API: {address}/api/v1/docs)
  Flyte     {flyte}
  NATS      {nats}
  Login     User admin, password in {folder}/admin.password
  Token     {folder}/admin.token
  Logs      {folder}/logs/
  Metrics   {address}/metrics, and {folder}/metrics-targets.json for Prometheus{cpctl}{tour}

Try these commands:

  export TOKEN=$(cat {token})
  curl -s -H "Authorization: Bearer $TOKEN" "{address}/api/v1/me"
  curl -s -H "Authorization: Bearer $TOKEN" "{address}/api/v1/overrides/effective?{scope}"

Ctrl-C stops everything."""
_DEMO_SCOPE = "project=flytesnacks&domain=development&workflow=MyExampleWorkflow"
# This domain exists in every installation.
_BARE_SCOPE = "domain=development"


@dataclass(frozen=True, slots=True)
class Options:
    data_dir: Path
    port: int
    grpc_port: int
    demo: bool
    # Of the built-in NATS.
    nats_port: int = 4222
    # Whether DCM agents share a login at the built-in NATS.
    dcm_agents: bool = False
    # Seconds of silence after which a web worker is stopped; twice as long for the web process. 0: never.
    hang_seconds: int = 30


def launch(options: Options, say: Callable[[str], None]) -> int:
    """Run until stopped, and return the exit code."""
    supervisor = Supervisor(say)
    try:
        with supervisor.listening(), data_folder(options.data_dir) as folder:
            _Launch(options, folder, supervisor, say).run()
    except StopRequested:
        say("Stopped.")
    except (CannotStart, OSError) as error:  # such as a full disk, with a clear message
        say(f"Cannot start: {error}")
        return 1
    return 0


class _Launch:
    """The steps of a start in order. At the end, they are always undone in reverse."""

    def __init__(
        self, options: Options, folder: Path, supervisor: Supervisor, say: Callable[[str], None]
    ) -> None:
        self.options = options
        self.folder = folder
        self.supervisor = supervisor
        self.say = say
        self.started_at = time.monotonic()

    def run(self) -> None:
        with ExitStack() as undo:
            if stop_leftovers(self.folder, pause=self.supervisor.pause):
                self.say("Stopped leftover processes of an earlier run.")
            for name, port in (("PORT", self.options.port), ("FLYTE_GRPC_PORT", self.options.grpc_port)):
                undo.callback(_reserve(name, port, pause=self.supervisor.pause).release)
            external = self._external_urls()
            services = self._start_services(external, undo)
            databases = services.database_urls() or dict.fromkeys(ROLES, external["DATABASE_URL"])
            urls = {**services.environment, **external, "DATABASE_URL": databases[MIGRATOR]}
            volatile = undo.enter_context(volatile_folder(self.folder))
            environment = self._environment(urls, volatile, undo)
            self._prepare(environment)
            demo = read_record(self.folder) if self.options.demo else None
            environment |= receiver_environment(demo)
            undo.callback(lambda: self.supervisor.stop(self.supervisor.names() - set(ALL)))
            ports = reserve_ports(undo)
            self._start_processes(environment, databases, ports, volatile=volatile, has_demo=demo is not None)
            write_targets(self.folder, ports, undo)
            undo.enter_context(present("supervisor", connect=cursor_at(databases[WORKER])))
            seconds = time.monotonic() - self.started_at
            self.say(banner(self.folder, self.options, urls["NATS_URL"], seconds))
            self.supervisor.watch()

    def _operator_environment(self) -> dict[str, str]:
        saved_files = [
            environment_file(Path(os.environ.get("DATA_DIR", ".data"))),
            environment_file(self.folder),
        ]
        return external_services.operator_environment(os.environ, saved_files)

    def _external_urls(self) -> dict[str, str]:
        urls = external_services.external_urls(self._operator_environment())
        for name in urls:
            self.say(f"Using the external service in {name}.")
        external_services.check_reachable(urls)
        return urls

    def _start_services(self, external: Mapping[str, str], undo: ExitStack) -> Services:
        names = [name for name in ALL if SETTING[name] not in external]
        self.say(f"Starting {', '.join(names) or 'no built-in services'} ...")
        services = start_services(
            self.folder,
            durable=True,
            names=names,
            nats=self._nats_options() if "nats" in names else NatsOptions(),
            pause=self.supervisor.pause,
        )
        undo.callback(lambda: services.stop(hurry=self.supervisor.is_hurried))
        if services.nats and services.nats.dcm_url:
            write_private(self.folder / _DCM_FILE, f"{services.nats.dcm_url}\n")
            undo.callback(lambda: (self.folder / _DCM_FILE).unlink(missing_ok=True))
        for name, running in services.running.items():
            self.supervisor.adopt(name, running, again=partial(services.start, name))
        return services

    def _nats_options(self) -> NatsOptions:
        """Reserve the port of NATS, which agents have in their configuration."""
        port = _reserve("NATS_PORT", self.options.nats_port, pause=self.supervisor.pause)
        return NatsOptions(port, dcm_agents=self.options.dcm_agents)

    def _environment(self, urls: Mapping[str, str], volatile: Path, undo: ExitStack) -> dict[str, str]:
        """Return the environment of all processes, and save a part for `manage.py` in other terminals."""
        chosen_key_file = self._operator_environment().get("SECRETS_KEY_FILE")
        shared = {
            **urls,
            "SECRET_KEY": secret_key(self.folder),
            "SECRETS_KEY_FILE": chosen_key_file or str(secrets_key_file(self.folder)),
            "PORT": str(self.options.port),
        }
        file = write_environment(self.folder, shared)
        undo.callback(lambda: file.unlink(missing_ok=True))
        return {
            **shared,
            "FLYTE_GRPC_PORT": str(self.options.grpc_port),
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
            "DATA_DIR": str(self.folder),
            "PYTHONPATH": str(programs.ROOT),
            MARK: str(self.folder),
            **programs.bytecode_environment(self.folder),
        }

    def _prepare(self, environment: Mapping[str, str]) -> None:
        self.say("Preparing the database ...")
        demo_port = receiver_port(self.options.port) if self.options.demo else 0
        program = programs.prepare_program(self.folder, environment, demo_port=demo_port)
        program.log.unlink(missing_ok=True)
        if run_to_end(program, pause=self.supervisor.pause):
            raise CannotStart(
                f"The database could not be prepared. End of {program.log}:\n{tail(program.log, 20)}"
            )

    def _start_processes(
        self,
        environment: Mapping[str, str],
        databases: Mapping[str, str],
        metrics_ports: Mapping[str, int],
        *,
        volatile: Path,
        has_demo: bool,
    ) -> None:
        port, worker = self.options.port, f"up-{self.options.port}@{os.getpid()}"
        long_running = programs.long_running_programs(
            self.folder,
            environment,
            databases,
            schedule=volatile / "beat-schedule",
            port=port,
            worker=worker,
            has_demo=has_demo,
            metrics=programs.MetricsPlaces(volatile / "metrics", metrics_ports),
        )
        self.say(f"Starting {', '.join(program.name for program in long_running)} ...")
        running = {
            program.name: self.supervisor.start(program.name, partial(start, program))
            for program in long_running
        }
        checks: dict[str, Callable[[], bool]] = {
            "web": lambda: web_answers(f"http://127.0.0.1:{port}/readyz"),
            "worker": lambda: worker_answers(environment["REDIS_URL"], worker),
            "beat": running["beat"].alive,
            "relay": running["relay"].alive,
            "plugin-installer": running["plugin-installer"].alive,
            "flyte-grpc": lambda: is_listening(self.options.grpc_port),
        }
        for name in checks.keys() & running.keys():
            wait_until(checks[name], running[name], pause=self.supervisor.pause)
        if self.options.hang_seconds:
            web = Probe(f"http://127.0.0.1:{port}/livez", seconds=2 * self.options.hang_seconds)
            self.supervisor.probe("web", web)


def _reserve(name: str, port: int, *, pause: Callable[[float], None]) -> ReservedPort:
    """Reserve a port while the other services start. Raises CannotStart."""
    deadline = time.monotonic() + _RELEASE_SECONDS
    while True:
        try:
            return ReservedPort(port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CannotStart(
                    f"Cannot use port {port}: {error.strerror}. Choose another port: make up {name}=8100"
                ) from error
        if is_listening(port) or time.monotonic() > deadline:
            raise CannotStart(
                f"Port {port} is already in use. Choose another port: make up {name}={port + 1}"
            )
        pause(0.1)


def _flyte_address(port: int) -> str:
    if not is_installed("flyte"):
        return "Not served: the extra `flyte` is not installed"
    return f"127.0.0.1:{port}    (gRPC, for flytectl and flytekit)"


def _nats_address(url: str, options: Options, folder: str) -> str:
    parts = urlsplit(url)
    address = f"{parts.scheme}://{parts.hostname}:{parts.port or 4222}    (for agents"
    return f"{address}; of DCM: {folder}/{_DCM_FILE})" if options.dcm_agents else f"{address})"


def banner(folder: Path, options: Options, nats_url: str, seconds: float) -> str:
    working_directory = Path.cwd()
    path = str(folder.relative_to(working_directory) if folder.is_relative_to(working_directory) else folder)
    return _TEXT.format(
        seconds=seconds,
        address=f"http://127.0.0.1:{options.port}",
        flyte=_flyte_address(options.grpc_port),
        nats=_nats_address(nats_url, options, path),
        folder=path,
        token=quote(f"{path}/admin.token"),
        cpctl="\n  cpctl     .venv/bin/cpctl" if Path(".venv/bin/cpctl").exists() else "",
        tour="\n  Tour      docs/tour.md, and the dashboard" if options.demo else "",
        scope=_DEMO_SCOPE if options.demo else _BARE_SCOPE,
    )
